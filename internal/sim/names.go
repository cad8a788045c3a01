package sim

// What titles are about and what authors are called has to be as varied as it is in
// libraries: there nearly every title is the only one that begins as it does. Of 1,062 titles
// of five sources 725 begin with a word of their own. With a few dozen words each title would be
// that of many papers, and whoever looks for doubles would find little else.

// The parts of words that nobody has used yet: 64 and 64 and 32 make 131,072 of them.
var (
	termStarts = [64]string{
		"ab", "al", "an", "ar", "bel", "bro", "cal", "car", "cel", "dal", "der", "dor", "el", "en", "fal", "fen",
		"gal", "gen", "gli", "hel", "hir", "im", "in", "jal", "ka", "kel", "lam", "len", "lor", "mal", "mer", "mon",
		"nal", "neb", "nir", "ob", "ol", "or", "pal", "per", "pra", "quin", "ral", "rem", "ris", "sal", "sel", "sor",
		"tal", "tel", "tir", "ul", "ur", "val", "vel", "vor", "wal", "xan", "yel", "yor", "zal", "zel", "zir", "zon",
	}
	termMiddles = [64]string{
		"aba", "abi", "ace", "ado", "afo", "aga", "ali", "amo", "ane", "api", "aro", "asi", "ate", "avo", "axi", "aza",
		"eba", "ebi", "eco", "edi", "efa", "ega", "eli", "emo", "ena", "epi", "ero", "esi", "eta", "evo", "exi", "eze",
		"iba", "ibo", "ica", "ido", "ifa", "igo", "ila", "imo", "ina", "ipo", "iro", "isa", "ita", "ivo", "ixa", "izo",
		"oba", "obi", "oca", "odi", "ofe", "oga", "oli", "oma", "oni", "opa", "ori", "osa", "oti", "ova", "oxi", "oza",
	}
	termEnds = [32]string{
		"base", "bin", "cel", "cin", "dine", "done", "fene", "gene", "kin", "lam", "lase", "lin", "lone", "mab", "mide", "min",
		"nase", "nib", "phil", "pine", "pril", "rase", "rin", "sin", "some", "stat", "tase", "tide", "tin", "vir", "xin", "zole",
	}
)

// appendTerm writes a word for seventeen bits of a throw: a substance, a gene or a drug that is
// the subject of few papers.
func appendTerm(b []byte, x uint64) []byte {
	b = append(b, termStarts[x&63]...)
	b = append(b, termMiddles[x>>6&63]...)
	return append(b, termEnds[x>>12&31]...)
}

// plainFamilies are the family names of most people, made of a beginning and an end.
var plainFamilies = func() []text {
	starts := [64]string{
		"Ack", "Ald", "And", "Arn", "Ash", "Bar", "Beck", "Berg", "Bern", "Black", "Bor", "Bran", "Brun", "Carl", "Chan", "Col",
		"Dal", "Dan", "Dor", "Eck", "Ed", "Ek", "Far", "Fel", "Fred", "Gal", "Ger", "Gran", "Hal", "Han", "Hart", "Hen",
		"Holm", "Is", "Jac", "Jan", "Kar", "Kel", "Kirk", "Lar", "Lin", "Lund", "Mar", "Mel", "Mor", "Nak", "Nor", "Ols",
		"Os", "Pal", "Per", "Pol", "Ram", "Ros", "Sal", "Sand", "Sim", "Sten", "Tak", "Tor", "Val", "Vik", "Wal", "Yam",
	}
	ends := [32]string{
		"a", "ada", "aki", "ard", "ario", "arsen", "berg", "by", "dal", "ek", "elli", "em", "er", "erson", "ez", "feld",
		"gren", "ini", "ins", "ley", "lund", "man", "moto", "ov", "quist", "sen", "ska", "son", "stad", "ton", "ura", "wood",
	}
	out := make([]text, 0, len(starts)*len(ends))
	for _, end := range ends {
		for _, start := range starts {
			name := start + end
			out = append(out, text{plain: name, json: name, xml: name})
		}
	}
	return out
}()

// familyOf is the family name of an author, for 24 bits of a throw: one of those that are hard
// to write for one author in four, and a plain one for the others, some of them often.
func familyOf(x uint64) text {
	if x&3 == 0 {
		return families[x>>2%uint64(len(families))]
	}
	n := uint64(len(plainFamilies))
	return plainFamilies[(x>>2%n)*(x>>13%n)/n]
}
