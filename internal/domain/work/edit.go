package work

// editDistance is how many letters have to be added, taken away or replaced to make one text of
// another; both have [comparedMost] at most.
//
// Think of the table in which row i and column j have the distance of the first i letters of a
// from the first j of b: neighbours differ by one at most. So a column is kept as bits that say
// where it goes up and where down from row to row, and made of the one before it for 64 rows at
// once (Myers, 1999; Hyyrö, 2003).
func editDistance(a, b []rune) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return len(b)
	}
	words := (len(a) + 63) / 64
	letters := lettersOf(a, words)
	var column [editWords]editColumn
	for w := range words {
		column[w].up = ^uint64(0)
	}
	lastRow := uint64(1) << ((len(a) - 1) % 64)
	distance := len(a)
	for _, r := range b {
		equal := letters.of(r)
		step := 1 // the first row counts the letters of b
		for w := range words {
			last := uint64(1) << 63
			if w == words-1 {
				last = lastRow
			}
			step = column[w].next(equal[w], last, step)
		}
		distance += step
	}
	return distance
}

// editWords is how many words of 64 rows the longest text has.
const editWords = (comparedMost + 63) / 64

// editColumn are 64 rows of a column: where it goes up by one from the row before, and where down.
type editColumn struct{ up, down uint64 }

// next makes the next column of this one. equal are the rows whose letter is that of the column,
// step is how much more the row above these has than in the column before, and so is what is
// returned for the last of them.
func (c *editColumn) next(equal, last uint64, step int) int {
	vertical := equal | c.down
	if step < 0 {
		equal |= 1
	}
	horizontal := ((equal & c.up) + c.up) ^ c.up | equal
	more := c.down | ^(horizontal | c.up)
	less := c.up & horizontal
	out := 0
	switch {
	case more&last != 0:
		out = 1
	case less&last != 0:
		out = -1
	}
	more <<= 1
	less <<= 1
	switch {
	case step > 0:
		more |= 1
	case step < 0:
		less |= 1
	}
	c.up = less | ^(vertical | more)
	c.down = more & vertical
	return out
}

// letterRows says for each letter of a text in which rows it stands, in so many words.
type letterRows struct {
	words  int
	ascii  []uint64
	others map[rune][]uint64
	none   []uint64
}

func lettersOf(text []rune, words int) letterRows {
	room := make([]uint64, (asciiLetters+1)*words)
	l := letterRows{words: words, ascii: room[words:], none: room[:words]}
	for i, r := range text {
		if !isASCII(r) && l.others[r] == nil {
			if l.others == nil {
				l.others = map[rune][]uint64{}
			}
			l.others[r] = make([]uint64, words)
		}
		l.of(r)[i/64] |= 1 << (i % 64)
	}
	return l
}

// asciiLetters is how many letters are found without a map.
const asciiLetters = 128

func isASCII(r rune) bool { return r >= 0 && r < asciiLetters }

// of are the rows of a letter.
func (l *letterRows) of(r rune) []uint64 {
	if isASCII(r) {
		return l.ascii[int(r)*l.words:][:l.words]
	}
	if rows := l.others[r]; rows != nil {
		return rows
	}
	return l.none
}
