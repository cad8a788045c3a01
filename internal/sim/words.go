package sim

import "strings"

// text is a piece of writing in the three forms it is served in.
type text struct {
	plain string // UTF-8, nothing in it that JSON must escape but the slash
	json  string // ASCII, with \u escapes and \/
	xml   string // ASCII, with character references and entities
}

func texts(plain ...string) []text {
	out := make([]text, len(plain))
	for i, s := range plain {
		out[i] = text{plain: s, json: escapeJSON(s), xml: escapeXML(s)}
	}
	return out
}

func escapeJSON(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '/':
			b.WriteString(`\/`)
		case r < 0x80:
			b.WriteRune(r)
		default:
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&15])
			}
		}
	}
	return b.String()
}

func escapeXML(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r < 0x80:
			b.WriteRune(r)
		default:
			b.WriteString("&#x")
			started := false
			for shift := 16; shift >= 0; shift -= 4 {
				if digit := r >> shift & 15; digit != 0 || started {
					b.WriteByte(hex[digit])
					started = true
				}
			}
			b.WriteByte(';')
		}
	}
	return b.String()
}

// The tables below have sixteen entries where a sentence takes four of them out
// of one throw of the dice. Their words are safe in JSON and in XML as they are.
var (
	subjects = [16]string{
		"The treated group", "Each participating centre", "Our simulated cohort", "A second reader",
		"The control arm", "This retrospective series", "Baseline imaging", "The pooled estimate",
		"Serial sampling", "The adjusted model", "An independent panel", "The younger stratum",
		"Long term follow up", "The primary endpoint", "Every second assay", "The sensitivity analysis",
	}
	verbs = [16]string{
		" showed a modest rise in ", " was associated with lower ", " did not alter ", " confirmed earlier reports of ",
		" reduced the burden of ", " predicted subsequent ", " failed to reproduce ", " doubled the odds of ",
		" correlated weakly with ", " delayed the onset of ", " revealed unexpected ", " was compared with ",
		" accounted for most of the ", " remained stable despite ", " improved the detection of ", " preceded clinical signs of ",
	}
	objects = [16]string{
		"cardiac fibrosis", "circulating ferritin", "nocturnal hypoxia", "renal clearance",
		"synaptic loss", "hepatic steatosis", "insulin resistance", "airway inflammation",
		"bone turnover", "viral shedding", "retinal thinning", "wound infection",
		"tumour hypoxia", "platelet activation", "gait instability", "mucosal healing",
	}
	tails = [16]string{
		" in adults over sixty.", " after twelve weeks of treatment.", " across all four sites.", " irrespective of sex.",
		" when measured at discharge.", " in the intention to treat set.", " within the first year.", " under standard conditions.",
		" among carriers of the variant.", " in two of three seasons.", " before and after surgery.", " at the lowest dose tested.",
		" without serious adverse events.", " in rural and urban clinics.", " as judged by blinded raters.", " and persisted at month nine.",
	}
	adjectives = [16]string{
		"Early", "Persistent", "Subclinical", "Comparative", "Prospective", "Longitudinal", "Regional", "Quantitative",
		"Familial", "Adaptive", "Noninvasive", "Seasonal", "Combined", "Selective", "Population-based", "Recurrent",
	}
	nouns = [16]string{
		"assessment", "modulation", "imaging", "epidemiology", "burden", "screening", "modelling", "trajectories",
		"determinants", "management", "predictors", "kinetics", "mapping", "prevention", "profiling", "recovery",
	}
	designs = [16]string{
		"a randomised trial", "a cohort study", "a case series", "a systematic review", "results from a registry", "a pilot study",
		"a protocol", "lessons from two decades", "a simulation study", "a nested case-control study", "a qualitative study",
		"a cross-sectional survey", "an open-label extension", "a multicentre audit", "a secondary analysis", "a reply",
	}
	fieldsOfStudy = [16]string{
		"Cardiology", "Nephrology", "Neurology", "Hepatology", "Microbiology", "Immunology", "Genetics", "Oncology",
		"Surgery", "Radiology", "Paediatrics", "Psychiatry", "Virology", "Pharmacology", "Epidemiology", "Haematology",
	}

	// spices are titles' awkward parts: Greek, units, dashes, quotation marks.
	spices = texts(
		"β-catenin", "IFN-γ", "5 µg·mL⁻¹", "Ménière’s disease", "p53–MDM2", "Sjögren syndrome", "CO₂/O₂ ratio", "“watch and wait”",
		"naïve T cells", "Behçet disease", "the α/β interface", "日本における調査", "œstradiol", "±2 °C", "Guillain–Barré", "Ł-type channels",
	)
	families = texts(
		"Abara", "Müller", "Okafor", "García", "Nguyễn", "Sørensen", "Kowalski", "Łukasik", "Tanaka", "Ibrahim", "O'Brien", "D’Angelo",
		"van der Berg", "Çelik", "Petrov", "Silva-Santos", "Kim", "Haddad", "Lindqvist", "Novák", "Park", "Moreau", "Rossi", "Ōta",
		"Ramanathan", "Zhou", "Fernández", "Göransson", "Mbeki", "Jansen", "Papadopoulou", "Wiśniewska",
	)
	givens = texts(
		"Amina", "Björn", "Chidi", "Dolores", "Elif", "François", "Grace", "Hiroshi", "Inés", "Jürgen", "Katarzyna", "Liang",
		"María José", "Nils", "Olga", "Priya", "Quentin", "Rosa", "Søren", "Thuý", "Ulrike", "Vera", "Wei", "Xóchitl",
		"Yasmin", "Zoë", "J. P.", "A.", "Anne-Marie", "Bartłomiej", "Carlos", "Dmitri",
	)
	places = texts(
		"Department of Medicine, University of Exampleton, Exampleton, UK.", "Institut für Simulation, Universität Musterstadt, Germany.",
		"Service de néphrologie, Hôpital Fictif, Lyon, France.", "Faculty of Health, São Exemplo University, Brazil.",
		"Centre for Oracles & Truth, Testville, Canada.", "School of Public Health, Nowhere State University, NY 10000, USA.",
		"大阪模擬大学医学部, Osaka, Japan.", "Katedra Fikcji, Łódź, Poland.",
	)
	groups = texts(
		"The SIMULATE Study Group", "Oracle Consortium (Phase II/III)", "Réseau d’Épidémiologie Fictive", "COVID-19 Made-Up Collaborative",
	)
	meshTerms = [16]struct{ ui, name string }{
		{"D000328", "Adult"},
		{"D006801", "Humans"},
		{"D005260", "Female"},
		{"D008297", "Male"},
		{"D000368", "Aged"},
		{"D008875", "Middle Aged"},
		{"D051379", "Mice"},
		{"D012189", "Retrospective Studies"},
		{"D006333", "Heart Failure"},
		{"D007333", "Insulin Resistance"},
		{"D003430", "Cross-Sectional Studies"},
		{"D011446", "Prospective Studies"},
		{"D012307", "Risk Factors"},
		{"D007249", "Inflammation"},
		{"D015201", "Meta-Analysis as Topic"},
		{"D013997", "Time Factors"},
	}
	meshQualifiers = [8]struct{ ui, name string }{
		{"Q000150", "complications"},
		{"Q000188", "drug therapy"},
		{"Q000453", "epidemiology"},
		{"Q000254", "growth &amp; development"},
		{"Q000378", "metabolism"},
		{"Q000503", "physiopathology"},
		{"Q000379", "methods"},
		{"Q000639", "therapeutic use"},
	}
	monthNames = [13]string{"", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// journal is a container that exists in both services.
type journal struct {
	title, abbrev, publisher text
	prefix, member           string
	issnPrint, issnOnline    string
	nlm, country             string
}

var journals = func() []journal {
	named := []struct{ title, abbrev, publisher, country string }{
		{"Journal of Simulated Medicine", "J Simul Med", "Exampleton University Press", "England"},
		{"Annals of Reproducible Results", "Ann Reprod Results", "Oracle Publishing Group", "United States"},
		{"Zeitschrift für angewandte Fiktion", "Z Angew Fikt", "Verlag Muster & Söhne", "Germany"},
		{"Revue fictive de néphrologie", "Rev Fict Nephrol", "Éditions Fictives", "France"},
		{"The Testville Lancet of Surgery", "Testv Lancet Surg", "Testville Press", "Canada"},
		{"Open Access Virology & Hosts", "Open Virol Hosts", "Open Shelf", "Switzerland"},
		{"Nowhere State Clinics", "Nowhere Clin", "Nowhere State University", "United States"},
		{"Frontiers in Imaginary Imaging", "Front Imag Imaging", "Frontier Pretend SA", "Switzerland"},
		{"Archivos Ficticios de Cardiología", "Arch Fict Cardiol", "Sociedad Ficticia", "Spain"},
		{"Proceedings of the Oracle Society B", "Proc Oracle Soc B", "The Oracle Society", "England"},
		{"Synthetic Genomics Letters", "Synth Genom Lett", "Letter Box", "Netherlands"},
		{"Made-Up Data in Brief", "Made Up Data Brief", "Elsewhere", "Netherlands"},
		{"Pediatrics of Nowhere", "Pediatr Nowhere", "Elsewhere", "Netherlands"},
		{"Quarterly Review of Null Findings", "Q Rev Null Find", "Null Press", "Australia"},
		{"Łódź Journal of Counterfactual Health", "Lodz J Counterfact Health", "Wydawnictwo Przykład", "Poland"},
		{"模擬医学雑誌", "Mogi Igaku Zasshi", "模擬学会", "Japan"},
	}
	out := make([]journal, len(named))
	for i, n := range named {
		t := texts(n.title, n.abbrev, n.publisher)
		out[i] = journal{
			title: t[0], abbrev: t[1], publisher: t[2], country: n.country,
			prefix: "10." + string(appendInt(nil, 99001+i*37)), member: string(appendInt(nil, 9000+i*11)),
			issnPrint: issn(1900000 + i*733), issnOnline: issn(2900000 + i*911),
			nlm: string(appendInt(nil, 101600000+i*17)),
		}
	}
	return out
}()

// issn completes seven digits with their check digit.
func issn(digits int) string {
	b := appendPadded(nil, digits, 7)
	sum := 0
	for i, c := range b {
		sum += int(c-'0') * (8 - i)
	}
	check := byte('X')
	if r := (11 - sum%11) % 11; r < 10 {
		check = byte('0' + r)
	}
	return string(b[:4]) + "-" + string(b[4:]) + string(check)
}

// appendSentence writes about a hundred characters for one throw.
func appendSentence(b []byte, d *dice) []byte {
	x := d.next()
	b = append(b, subjects[x&15]...)
	b = append(b, verbs[x>>4&15]...)
	b = append(b, objects[x>>8&15]...)
	return append(b, tails[x>>12&15]...)
}

func appendSentences(b []byte, d *dice, n int) []byte {
	for k := range n {
		if k > 0 {
			b = append(b, ' ')
		}
		b = appendSentence(b, d)
	}
	return b
}

// appendHeadline writes the plain part of a title, without a full stop. Nearly all name what
// few others do, in the beginning, in the middle or at the end.
func appendHeadline(b []byte, d *dice) []byte {
	x := d.next()
	place := x >> 22 & 15
	term := x >> 26
	if place >= 1 && place <= 5 {
		from := len(b)
		b = appendTerm(b, term)
		b[from] -= 'a' - 'A'
		b = append(b, " and "...)
		from = len(b)
		b = append(b, adjectives[x&15]...)
		b[from] += 'a' - 'A'
	} else {
		b = append(b, adjectives[x&15]...)
	}
	b = append(b, ' ')
	if place >= 6 && place <= 10 {
		b = appendTerm(b, term)
		b = append(b, ' ')
	}
	b = append(b, nouns[x>>4&15]...)
	b = append(b, " of "...)
	b = append(b, objects[x>>8&15]...)
	if x>>20&3 == 0 {
		b = append(b, " and "...)
		b = append(b, objects[x>>12&15]...)
	}
	if place > 10 {
		b = append(b, " after "...)
		b = appendTerm(b, term)
	}
	b = append(b, ": "...)
	return append(b, designs[x>>16&15]...)
}

// appendORCID writes sixteen digits in groups.
func appendORCID(b []byte, d *dice) []byte {
	x := d.n(100_000_000)
	b = append(b, "0000-000"...)
	b = appendInt(b, x%4)
	b = append(b, '-')
	b = appendPadded(b, x/10%10000, 4)
	b = append(b, '-')
	b = appendPadded(b, x/7%1000, 3)
	return append(b, "0123456789X"[x%11])
}
