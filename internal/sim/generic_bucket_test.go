package sim

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
)

// TestGenericBuckets: buckets of any number tile what there is, and bucket b of n
// is b and b+n of 2n; what is no bucket is refused.
func TestGenericBuckets(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Records: 300, Seed: 3, LimitRPS: -1})
	ids := func(bucket, of int) map[string]bool {
		page := items(t, s, url.Values{"size": {"1000"}, "bucket": {fmt.Sprint(bucket)}, "buckets": {fmt.Sprint(of)}})
		out := map[string]bool{}
		for _, item := range page.Items {
			var head struct{ ID string }
			if err := json.Unmarshal(item, &head); err != nil {
				t.Fatal(err)
			}
			out[head.ID] = true
		}
		if page.Total == nil || *page.Total != len(out) {
			t.Errorf("bucket %d of %d: total %v of %d", bucket, of, page.Total, len(out))
		}
		return out
	}
	all := ids(0, 1)
	for _, of := range []int{2, 3, 8} {
		seen := map[string]int{}
		for b := range of {
			own := ids(b, of)
			if len(own) < len(all)/of/2 || len(own) > 2*len(all)/of {
				t.Errorf("bucket %d of %d holds %d of %d", b, of, len(own), len(all))
			}
			for id := range own {
				seen[id]++
			}
			for _, half := range []int{b, b + of} {
				for id := range ids(half, 2*of) {
					if !own[id] {
						t.Errorf("%s is in bucket %d of %d and not in %d of %d", id, half, 2*of, b, of)
					}
				}
			}
		}
		if len(seen) != len(all) {
			t.Errorf("%d of %d are in buckets of %d", len(seen), len(all), of)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s is in %d of %d buckets", id, n, of)
			}
		}
	}
	for _, bad := range [][]string{{"bucket", "2", "buckets", "2"}, {"bucket", "1"}, {"buckets", "2"}, {"bucket", "-1", "buckets", "2"}, {"bucket", "a", "buckets", "b"}} {
		if a := get(s, "/generic/items", bad...); a.Code != 400 {
			t.Errorf("%v: %d %s", bad, a.Code, a.Body)
		}
	}
}
