package sources_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/sources"
)

// The packs in testdata/before are not changed any more, and the snapshots beside
// them were made by patra as it was when snapshots had words of their own.
const before = "testdata/before"

func packBefore(t *testing.T, name string) *sourcefile.Pack {
	t.Helper()
	file := filepath.Join(before, name+".yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := sourcefile.Parse(file, data)
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

func specBefore(t *testing.T, name string, op harvest.Operation) *source.Spec {
	t.Helper()
	vars := map[string]string{"contact": "ops@example.org", "tool": "patra"}
	spec, _, err := packBefore(t, name).Compile(source.Trigger{Operation: op, Vars: vars})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestOldSnapshots_SayWhatTheirPacksSay: a plan that was made before goes on as it
// would if it were made now, so what is read from its snapshot is what its pack
// compiles to.
func TestOldSnapshots_SayWhatTheirPacksSay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(before, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d snapshots, %v", len(files), err)
	}
	for _, file := range files {
		name, op, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		t.Run(name+" "+op, func(t *testing.T) {
			stored, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := source.ParseSpec(stored)
			if err != nil {
				t.Fatal(err)
			}
			want := specBefore(t, name, harvest.Operation(strings.ToUpper(op)))
			want.Version = got.Version
			// Snapshots did not always hold when slices are cut.
			limits := want.CutLimits()
			limits.RetryAfterSum = 0 // there was no such threshold
			limits.WalkTime = 0
			limits.OverEstimate = 0
			if limits != got.CutLimits() {
				t.Errorf("slices are cut at %+v, by the snapshot at %+v", limits, got.CutLimits())
			}
			got.Cuts = want.Cuts
			// Nothing was kept back of quotas, and nothing is of plans made then.
			if n := got.Rate.PaceLimit(pace.Adapt{}).Reserve; n != 0 {
				t.Errorf("%v of each quota are kept back by a snapshot that knows of none", n)
			}
			want.Rate.QuotaReserve = nil
			if want.Auth != nil && want.Auth.Rate != nil {
				want.Auth.Rate.QuotaReserve = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the pack compiles to (-), the snapshot is read as (+):\n%s", diff)
			}
		})
	}
}

// TestNames_OutliveTheirWords: what cursors, records and applied packs are told by
// is made of what a pack says and not of the words that its parts have in Go or in
// JSON. A namespace that is another begins its cursor anew, another version of the
// mapping reads every record as changed, another hash calls an unchanged pack new.
func TestNames_OutliveTheirWords(t *testing.T) {
	type names struct{ hash, namespace, mapping string }
	for name, want := range map[string]names{
		"crossref": {
			"61663d412862ef7c68a229bf819e98d942dda55337f6c8d5fded57e09ff55fd5",
			"c7429e44322ea411a236b7baacccc104772ebc627f768ba791c9be621f2347ca", "73122b5542704347",
		},
		"doaj": {
			"889b9d985c59fc8c9ed0b77961d16a4f16c57634ea3016ae0be0073c2b4d83b4",
			"92cb8adf0b78824b0f1d045f15335a66c8a5bfa10a04c6cd07928d8ceab43831", "46723306c2ce078c",
		},
		"pages": {
			"62ecea8e97343d4687e2702fd8fdcf054be0fac86ac630c74759acf057709530",
			"83925302cd022b6ce41e4d769ddce9531ff3d5f2d5e20a2ac9013f29605898b5", "ebbf9fe43773f42a",
		},
		"pubmed": {
			"eeb7af16e54ca4c329f3ee0f12638c3c15eea27aac52d9c655078865e96c3ec8",
			"847bf8c0e233892e0d9434c2c562656c1912882a1b8d60514e197dd372035d60", "2178162759b48331",
		},
		"tokens": {
			"43a9be2662be215567c4c65ca622c14d61fc52f462b296122f9a54f7a57c26da",
			"58792e97cd033792731ac773ba211a6dc67937a32206d27f30972a3866418bdd", "52284273b6382d2f",
		},
	} {
		spec := specBefore(t, name, harvest.Harvest)
		got := names{packBefore(t, name).Hash(), namespaceOf(spec), spec.Mapping.Version()}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestNames_OfShippedPacks: no upgrade begins the cursor of a shipped pack anew. A
// line is changed here only by who means to do just that.
func TestNames_OfShippedPacks(t *testing.T) {
	want := map[string]string{
		"arxiv":          "f88802c5146afaa7c7e0ad271b698b6ea2146fa1ddaa940e8ed8da2adddff80e",
		"arxiv-search":   "8e5ac8374156fdc705ced8db5352f8083f25663057125149a72ed1ad91910d44",
		"clinicaltrials": "7ebb7558a62156a86a7fe2116e326e5237c51aa345cb80794bd4bf41cf6ac18b",
		"core":           "e1167652ad7ed11d5a378afe77a3a2208ffd42035e0bf994b1430ab544327aa2",
		"datacite-oai":   "f88802c5146afaa7c7e0ad271b698b6ea2146fa1ddaa940e8ed8da2adddff80e",
		"scielo":         "3a770cf0342756fa9c5e79be5edf17fae48082fa2119514b4c55c6b7614c37dd",
		"crossref":       "c7429e44322ea411a236b7baacccc104772ebc627f768ba791c9be621f2347ca",
		"datacite":       "91ed5c238d258e58d26bde6159b00f2738e0095ae2b6896b9f8f98b484fd7d16",
		"doaj":           "92cb8adf0b78824b0f1d045f15335a66c8a5bfa10a04c6cd07928d8ceab43831",
		"europepmc":      "2a1b22ed948c570796bc74342ad3c757714e054a3489f2b8e93d6e8a61458083",
		"hal":            "5ed5ada29449b8758d903bdfcb8c1dd259ff9c41f372cb64e01e98d1932666a5",
		"elife":          "c085089ca411fb4be3f7bfb56d75a2fc4ac849d8bfd90f4b50609f29f8410fd5",
		"ietf":           "b1a2c019b377ca527255e0212532068e1f5cb2ab92df087564b999be7c720d0d",
		"hal-keyset":     "5ed5ada29449b8758d903bdfcb8c1dd259ff9c41f372cb64e01e98d1932666a5",
		"openalex":       "e1167652ad7ed11d5a378afe77a3a2208ffd42035e0bf994b1430ab544327aa2",
		"plos":           "98ed3ef6351246e55225db0cf9d2bdfefe36f1fbd5ea78a69de17ac0638cecc5",
		"doaj-oai":       "f88802c5146afaa7c7e0ad271b698b6ea2146fa1ddaa940e8ed8da2adddff80e",
		"zenodo-oai":     "f88802c5146afaa7c7e0ad271b698b6ea2146fa1ddaa940e8ed8da2adddff80e",
		"biorxiv":        "78b5d4af321041ee712dfc0bdba4ef8474ff8c8a5eb803295e889e726356886b",
		"medrxiv":        "78b5d4af321041ee712dfc0bdba4ef8474ff8c8a5eb803295e889e726356886b",
		"pmc":            "f88802c5146afaa7c7e0ad271b698b6ea2146fa1ddaa940e8ed8da2adddff80e",
		"pubmed":         "847bf8c0e233892e0d9434c2c562656c1912882a1b8d60514e197dd372035d60",
		"zenodo":         "37a51a5fa810a025f35f2ffc39f4d7d6101e861e136c88aa42384fea8f3324e5",
		// No HARVEST, so no cursor of one.
		"semanticscholar": "",
		"unpaywall":       "",
	}
	packs, err := sources.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packs {
		name, isPack := strings.CutSuffix(p.Name(), ".yaml")
		if !isPack || strings.Contains(name, ".") {
			continue
		}
		namespace, known := want[name]
		if !known {
			t.Errorf("%s is not in the table", name)
		}
		if namespace == "" {
			continue
		}
		if got := namespaceOf(compile(t, name, harvest.Harvest)); got != namespace {
			t.Errorf("%s: the HARVEST has the namespace %s, and had %s", name, got, namespace)
		}
	}
}

// namespaceOf is where the cursor of a HARVEST of everything stands.
func namespaceOf(spec *source.Spec) string {
	_, selection := spec.Selected()
	return harvest.HarvestNamespace(spec.Source, spec.Search.Name, spec.Window.Key, selection).Key
}
