package sqlstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// spelling is how the registry's design says what patra has under a key: in one column or
// two, in another form. A row that a pack asks for is written in both forms; of a row that
// has both the design's is read.
type spelling struct {
	key     string
	columns []string
	// read is the text of the key; values are those of the columns, the first of them not nil.
	read func(values []*string) (string, error)
	// write is what the columns hold for the text of the key; nil for each if they cannot say it.
	write func(text string) []any
	// greater: the value counts only where it is the greater length.
	greater bool
}

// spellings are those of each dimension.
var spellings = map[source.Dimension][]spelling{
	source.DimHTTP: {
		millis("connectTimeout", "timeout_connect_millis"),
		millis("readTimeout", "timeout_read_millis"),
		millis("totalTimeout", "timeout_total_millis"),
	},
	source.DimRetry: {
		millis("base", "initial_delay_millis"),
		millis("max", "max_delay_millis"),
		millis("breakRest", "circuit_cooldown_millis"),
	},
	source.DimWindow: {
		length("step", "window_size_value", "window_size_unit_code"),
		length("overlap", "overlap_value", "overlap_unit_code"),
		lookback("overlap", "lookback_value", "lookback_unit_code"),
	},
	source.DimEndpoint: {
		same("contentType", "request_content_type"),
	},
}

// same is a column whose value is that of the key.
func same(key, column string) spelling {
	return spelling{
		key: key, columns: []string{column},
		read:  func(values []*string) (string, error) { return *values[0], nil },
		write: func(text string) []any { return []any{text} },
	}
}

// millis is a column with a number of milliseconds.
func millis(key, column string) spelling {
	return spelling{
		key: key, columns: []string{column},
		read: func(values []*string) (string, error) {
			n, err := strconv.ParseInt(*values[0], 10, 64)
			return (time.Duration(n) * time.Millisecond).String(), err
		},
		write: func(text string) []any {
			d, err := source.ParseDuration(text)
			if err != nil || d%time.Millisecond != 0 {
				return []any{nil}
			}
			return []any{d.Milliseconds()}
		},
	}
}

// units are the codes of lengths of time, the longest first. A month has none of its own.
var units = []struct {
	code string
	d    time.Duration
}{
	{"WEEK", 7 * 24 * time.Hour}, {"DAY", 24 * time.Hour}, {"HOUR", time.Hour}, {"MINUTE", time.Minute}, {"SECOND", time.Second},
}

// length is a number and its unit.
func length(key, value, unit string) spelling {
	return spelling{
		key: key, columns: []string{value, unit},
		read: func(values []*string) (string, error) {
			code := "DAY"
			if values[1] != nil {
				code = strings.ToUpper(*values[1])
			}
			n, err := strconv.ParseInt(*values[0], 10, 64)
			if err != nil {
				return "", err
			}
			var known []string
			for _, u := range units {
				if u.code == code {
					return (time.Duration(n) * u.d).String(), nil
				}
				known = append(known, u.code)
			}
			return "", fmt.Errorf("unit %s is not known: known are %s", code, strings.Join(known, ", "))
		},
		write: func(text string) []any {
			d, err := source.ParseDuration(text)
			for _, u := range units[1:] {
				if err == nil && d%u.d == 0 {
					return []any{int64(d / u.d), u.code}
				}
			}
			return []any{nil, nil}
		},
	}
}

// lookback is a length that counts where it is the greater one, and that no pack writes:
// its word for it is the other.
func lookback(key, value, unit string) spelling {
	s := length(key, value, unit)
	s.greater = true
	s.write = func(string) []any { return []any{nil, nil} }
	return s
}

// spelledColumns are the columns of a dimension's spellings, in order.
func spelledColumns(d source.Dimension) []string {
	var out []string
	for _, s := range spellings[d] {
		out = append(out, s.columns...)
	}
	return out
}

// readSpelled puts what the columns of a dimension's spellings hold under their keys.
func readSpelled(d source.Dimension, values []*string, get map[string]*string) error {
	for _, s := range spellings[d] {
		own := values[:len(s.columns)]
		values = values[len(s.columns):]
		if own[0] == nil {
			continue
		}
		text, err := s.read(own)
		if err != nil {
			return fmt.Errorf("column %s: %w", s.columns[0], err)
		}
		if s.greater && get[s.key] != nil && !isLonger(text, *get[s.key]) {
			continue
		}
		get[s.key] = &text
	}
	return nil
}

// isLonger reports whether one length of time is greater than another.
func isLonger(a, b string) bool {
	x, errA := source.ParseDuration(a)
	y, errB := source.ParseDuration(b)
	return errA == nil && (errB != nil || x > y)
}

// writeSpelled are the columns of a dimension's spellings with what a body has under their keys.
func writeSpelled(d source.Dimension, body []source.Value) []col {
	var out []col
	for _, s := range spellings[d] {
		for _, v := range body {
			text, is := v.Value.(string)
			if v.Key != s.key || !is {
				continue
			}
			for i, value := range s.write(text) {
				if value != nil {
					out = append(out, col{s.columns[i], value})
				}
			}
		}
	}
	return out
}
