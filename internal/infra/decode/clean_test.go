package decode

import "testing"

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "plain", "plain"},
		{"text", "  a \n\t b\u00a0\u2003c ", "a b c"},
		{"text", "été — naïve", "été — naïve"},
		{"text", "<i>E. coli</i> H<sub>2</sub>O", "E. coli H2O"},
		{"text", "a <jats:italic>b</jats:italic> <mml:math xmlns:mml=\"u\"><mml:mi>x</mml:mi><mml:mo>=</mml:mo></mml:math>", "a b x="},
		{"text", "one<br/>two</p><p>three", "one two three"},
		{"text", "p<0.05 and q>1, a<b and b>c", "p<0.05 and q>1, a<b and b>c"},
		{"text", "p &lt; 0.05 &amp;amp; q &amp;gt; 1", "p < 0.05 & q > 1"},
		{"text", "&lt;i&gt;Candida&lt;/i&gt; &eacute;&#x2013;&nosuch; AT&T R&D;", "Candida é–&nosuch; AT&T R&D;"},
		{"text", "a<!-- no -->b", "ab"},
		{"text", "Java <T> generics", "Java <T> generics"},
		{"text", "unclosed <i", "unclosed <i"},
		{"text", "\u00a0", ""},
		{"text", "&nbsp;", ""},
		{"jats", "<jats:p>One  two.</jats:p>", "One two."},
		{
			"jats", "<jats:title>Abstract</jats:title><jats:sec><jats:title>Background</jats:title><jats:p>A.</jats:p><jats:p>B.</jats:p></jats:sec><jats:sec><jats:title>Methods:</jats:title><jats:p>C.</jats:p></jats:sec>",
			"Abstract:\nBackground: A.\nB.\nMethods: C.",
		},
		{"jats", "\n  <jats:sec>\n <jats:title>Aim</jats:title>\n <jats:p>A <jats:italic>b</jats:italic>.</jats:p>\n </jats:sec>\n", "Aim: A b."},
		{"jats", "&lt;jats:p&gt;One.&lt;/jats:p&gt;&lt;jats:p&gt;p &amp;lt; 2&lt;/jats:p&gt;", "One.\np < 2"},
		{"jats", "<jats:title/><jats:p>x</jats:p>", "x"},
		{"jats", "<jats:title>:</jats:title><jats:p>x</jats:p>", "x"},
		{"jats", "no markup", "no markup"},
		{"lower", "ÀB", "àb"},
		{"upper", "àb", "ÀB"},
		{"trim", " x ", "x"},
		{"doi", "https://doi.org/10.1000/ABC", "10.1000/abc"},
		{"doi", "HTTP://DX.DOI.ORG/10.1000/ÀB", "10.1000/Àb"},
		{"doi", "doi: 10.1000/x", "10.1000/x"},
		{"doi", "10.1002/(SICI)1096-9861(19960129)365:1<113::AID-CNE9>3.0.CO;2-6", "10.1002/(sici)1096-9861(19960129)365:1<113::aid-cne9>3.0.co;2-6"},
		{"doi", "10.1000.10/123456", "10.1000.10/123456"},
		{"doi", "10.24191/doi.org/10.24191/ij.v8i2.81", "10.24191/doi.org/10.24191/ij.v8i2.81"},
		{"doi", "not available", ""},
		{"doi", "10/abc", ""},           // a short one
		{"doi", "10.99/x", ""},          // no registrant has so few digits
		{"doi", "10.1000/", ""},         // nothing behind the slash
		{"doi", "10.1000/a b", ""},      // nearly always two things
		{"doi", "10.1000a/x", ""},       // letters in the prefix
		{"doi", "11.1000/x", ""},        // of another registry
		{"doi", "https://doi.org/", ""}, // a resolver alone
		{"doi", "10.1000./x", ""},       // a number is missing
		{"doi", "10.31857/S0, EDN: CHWIKZ", ""},
		{"strip_doi_url", "https://doi.org/10.1000/ABC", "10.1000/ABC"},
		{"orcid", "http://orcid.org/0000-0002-1825-009x", "0000-0002-1825-009X"},
		{"orcid", "0000000218250097", "0000-0002-1825-0097"},
		{"orcid", "0000-0002", ""},
		{"orcid", "none", ""},
		{"number", " 1,234,567 ", "1234567"},
		{"number", "12,34", ""},
		{"number", "-1,234.5", "-1234.5"},
		{"number", "1234,567", ""},
		{"number", ",567", ""},
		{"number", "1,234.567,890", ""},
		{"number", "3.5", "3.5"},
		{"number", "about 3", ""},
	} {
		var a arena
		in := []byte(c.in)
		if got := string(cleaners[c.name](&a, in)); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.name, c.in, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("%s %q: changed what it was given", c.name, c.in)
		}
	}
}
