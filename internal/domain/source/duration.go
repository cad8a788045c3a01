package source

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

var isoDuration = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// ParseDuration reads Go's form ("90s"), whole days ("30d") and ISO 8601
// without months and years, which have no length of their own ("P1D", "PT10M").
func ParseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	if n, ok := cutDays(s); ok {
		return checkedDays(s, n)
	}
	m := isoDuration.FindStringSubmatch(s)
	if m == nil || s == "P" || s[len(s)-1] == 'T' {
		return 0, fmt.Errorf("%q is not a duration: write 90s, 30d, PT10M or P1D", s)
	}
	var total float64
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] == "" {
			continue
		}
		v, err := strconv.ParseFloat(m[i+1], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: %w", s, err)
		}
		total += v * float64(unit)
	}
	if total > math.MaxInt64/2 {
		return 0, fmt.Errorf("duration %q is too long", s)
	}
	return time.Duration(total), nil
}

func cutDays(s string) (int64, bool) {
	if len(s) < 2 || s[len(s)-1] != 'd' {
		return 0, false
	}
	n, err := strconv.ParseInt(s[:len(s)-1], 10, 64)
	return n, err == nil && n >= 0
}

func checkedDays(s string, n int64) (time.Duration, error) {
	if n > math.MaxInt64/int64(24*time.Hour)/2 {
		return 0, fmt.Errorf("duration %q is too long", s)
	}
	return time.Duration(n) * 24 * time.Hour, nil
}
