package work_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/work"
)

// normals are identifiers as they are found, and their normal forms; "" is none.
var normals = []struct {
	scheme     work.Scheme
	text, want string
}{
	{work.DOI, "10.1000/ABC", "10.1000/abc"},
	{work.DOI, " doi:10.1000/abc ", "10.1000/abc"},
	{work.DOI, "DOI: 10.1000/abc", "10.1000/abc"},
	{work.DOI, "https://doi.org/10.1000/abc", "10.1000/abc"},
	{work.DOI, "http://dx.doi.org/10.1000/abc", "10.1000/abc"},
	{work.DOI, "https://www.doi.org/10.1000/abc", "10.1000/abc"},
	{work.DOI, "\u200b10.1000/abc\ufeff", "10.1000/abc"},
	{work.DOI, "10.24191/doi.org/10.24191/ij.v8i2.81", "10.24191/doi.org/10.24191/ij.v8i2.81"},
	{work.DOI, "10.1186/2047-783X-19-24.", "10.1186/2047-783x-19-24"},
	{work.DOI, "10.31857/S0869, EDN: CHWIKZ", "10.31857/s0869"},
	{work.DOI, "10.1000/abc [doi]", "10.1000/abc"},
	{work.DOI, "(10.1000/abc)", ""},
	{work.DOI, "10.1000/abc)", "10.1000/abc"},
	{work.DOI, "10.1016/S0140-6736(97)11096-0", "10.1016/s0140-6736(97)11096-0"},
	{work.DOI, "10.1007/JHEP09(2024)117", "10.1007/jhep09(2024)117"},
	{work.DOI, "10.1002/(SICI)1096-9861(19960129)365:1<113::AID-CNE9>3.0.CO;2-6", "10.1002/(sici)1096-9861(19960129)365:1<113::aid-cne9>3.0.co;2-6"},
	{work.DOI, "10.1002/(SICI)1096-9861(19960129)365:1&lt;113::AID-CNE9&gt;3.0.CO;2-6", "10.1002/(sici)1096-9861(19960129)365:1<113::aid-cne9>3.0.co;2-6"},
	{work.DOI, "https://doi.org/10.1002/(SICI)1096-9861(19960129)365:1%3C113::AID-CNE9%3E3.0.CO;2-6", "10.1002/(sici)1096-9861(19960129)365:1<113::aid-cne9>3.0.co;2-6"},
	{work.DOI, "10.1016%2Fs0140-6736%2897%2911096-0", "10.1016/s0140-6736(97)11096-0"},
	{work.DOI, "10.1026//1616-1041.3.2.86", "10.1026//1616-1041.3.2.86"},
	{work.DOI, "10.1037//0022-3514", "10.1037/0022-3514"},
	{work.DOI, "10.1000/x.1", "10.1000/x.1"},
	{work.DOI, "10.1000/x1", "10.1000/x1"},
	{work.DOI, "10.1000/a-b_c", "10.1000/a-b_c"},
	{work.DOI, "10.1101/2022.12.12.520156v2", "10.1101/2022.12.12.520156"},
	{work.DOI, "10.1101/2022.12.12.520156v2.full.pdf", "10.1101/2022.12.12.520156"},
	{work.DOI, "10.64898/2025.12.02.700001v1", "10.64898/2025.12.02.700001"},
	{work.DOI, "10.1101/gr.160374.113", "10.1101/gr.160374.113"},
	{work.DOI, "10.21203/rs.3.rs-1/v2", "10.21203/rs.3.rs-1/v2"},
	{work.DOI, "10.1000/münchen", ""},
	{work.DOI, "10.1000/a–b", ""},
	{work.DOI, "10/abc", ""},
	{work.DOI, "10.1/abc", ""},
	{work.DOI, "10.1000", ""},
	{work.DOI, "n/a", ""},
	{work.DOI, "", ""},
	{work.PMID, "31452104", "31452104"},
	{work.PMID, "031452104", "31452104"},
	{work.PMID, "PMID: 31452104", "31452104"},
	{work.PMID, "https://pubmed.ncbi.nlm.nih.gov/31452104/", "31452104"},
	{work.PMID, "31452104.2", "31452104"},
	{work.PMID, "0", ""},
	{work.PMID, "PMC31452104", ""},
	{work.PMID, "31a", ""},
	{work.PMCID, "PMC123", "PMC123"},
	{work.PMCID, "123", "PMC123"},
	{work.PMCID, "pmc0123.1", "PMC123"},
	{work.PMCID, "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123/", "PMC123"},
	{work.PMCID, "NIHMS123", ""},
	{work.ArXiv, "arXiv:1412.6980v9", "1412.6980"},
	{work.ArXiv, "1501.00001", "1501.00001"},
	{work.ArXiv, "1501.0001", ""},
	{work.ArXiv, "0704.0001", "0704.0001"},
	{work.ArXiv, "0704.00001", ""},
	{work.ArXiv, "1413.0001", ""},
	{work.ArXiv, "math.CA/0611800v2", "math/0611800"},
	{work.ArXiv, "hep-th/9901001", "hep-th/9901001"},
	{work.ArXiv, "https://arxiv.org/abs/2101.00001v3", "2101.00001"},
	{work.ArXiv, "https://arxiv.org/pdf/2101.00001.pdf", "2101.00001"},
	{work.ArXiv, "oai:arXiv.org:2101.00001", "2101.00001"},
	{work.ArXiv, "10.48550/arXiv.2101.00001", "2101.00001"},
	{work.OpenAlex, "https://openalex.org/W2741809807", "W2741809807"},
	{work.OpenAlex, "w2741809807", "W2741809807"},
	{work.OpenAlex, "A2741809807", ""},
	{work.EuropePMC, "MED/31452104", "MED:31452104"},
	{work.EuropePMC, "ppr:PPR12345", "PPR:PPR12345"},
	{work.EuropePMC, "PMC:PMC123", "PMC:PMC123"},
	{work.EuropePMC, "XXX:1", ""},
	{work.NCT, "nct4437511", "NCT04437511"},
	{work.NCT, "NCT04437511", "NCT04437511"},
	{work.NCT, "https://clinicaltrials.gov/study/NCT04437511", "NCT04437511"},
	{work.NCT, "NCT123456789", ""},
}

// TestNormalForms: identifiers are read as they are found, and no two become one.
func TestNormalForms(t *testing.T) {
	t.Parallel()
	for _, c := range normals {
		id, ok := work.Normal(c.scheme, c.text)
		if id.Value != c.want || ok != (c.want != "") {
			t.Errorf("%s %q is %q, want %q", c.scheme, c.text, id.Value, c.want)
		}
		if again, _ := work.Normal(c.scheme, id.Value); ok && again != id {
			t.Errorf("%s %q is %q, and that %q", c.scheme, c.text, id.Value, again.Value)
		}
	}
	// A registry's own word is left as it is but for capitals.
	if d, ok := work.NormalDOI("10.1000/ends.with.", true); d != "10.1000/ends.with." || !ok {
		t.Errorf("%q", d)
	}
}

// TestVersionStems: only what a registrant numbers as versions has a stem.
func TestVersionStems(t *testing.T) {
	t.Parallel()
	for doi, want := range map[string]string{
		"10.21203/rs.3.rs-12345/v2":        "10.21203/rs.3.rs-12345",
		"10.6084/m9.figshare.1234567.v3":   "10.6084/m9.figshare.1234567",
		"10.12688/f1000research.12345.2":   "10.12688/f1000research.12345",
		"10.20944/preprints202101.0001.v1": "10.20944/preprints202101.0001",
		"10.1000/book/v2":                  "",
		"10.1371/journal.pone.0000001":     "",
		"10.1016/s0140-6736(97)11096-0":    "",
	} {
		if got := work.VersionStem(doi); got != want {
			t.Errorf("%s has stem %q, want %q", doi, got, want)
		}
	}
}

// FuzzNormal: a normal form is its own normal form, whatever was read.
func FuzzNormal(f *testing.F) {
	for _, c := range normals {
		f.Add(string(c.scheme), c.text)
	}
	f.Fuzz(func(t *testing.T, scheme, text string) {
		id, ok := work.Normal(work.Scheme(scheme), text)
		if !ok {
			return
		}
		if again, ok := work.Normal(work.Scheme(scheme), id.Value); !ok || again != id {
			t.Errorf("%s %q is %q, and that %q", scheme, text, id.Value, again.Value)
		}
		if r, ok := work.NormalDOI(text, true); ok {
			if again, ok := work.NormalDOI(r, true); !ok || again != r {
				t.Errorf("%q is %q, and that %q", text, r, again)
			}
		}
	})
}
