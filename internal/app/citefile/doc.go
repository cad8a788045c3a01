// Package citefile writes citations to files that reference managers, screening tools
// and spreadsheets read: one writer a format, each of which holds one record at a time
// in memory (Parquet: one group of rows).
//
// Every format has signs that end a field, a line or a record. What keeps a hostile
// title inside is done at two places: a [citation.Citation] holds no line break and no
// two blanks in a row, and each writer escapes, or leaves out, the signs of its own
// format where it writes a value. What readers really do with a file, and why tags
// are chosen as they are, is told in docs/export.md.
package citefile
