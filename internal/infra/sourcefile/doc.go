// Package sourcefile reads and writes source packs: YAML files that people
// write by hand and that hold a [source.Definition].
//
// Reading is strict. Unknown keys, keys given twice, anchors, aliases and tags
// are refused, and every mistake found is reported at once with its file, line
// and column; what is wrong in meaning rather than in form is found by
// [source.Compile], whose violations [Pack.Compile] puts in their place in the
// file. Nothing here touches the network or the file system.
package sourcefile
