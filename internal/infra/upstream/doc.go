// Package upstream asks literature APIs over HTTP: it renders a request from
// the frozen description of a source, waits for a permit, sends, reads the reply
// within limits, says what a bad one means, repeats where that is right and
// hands good ones to a decoder.
//
// It promises that no request leaves without a permit, repetitions included; that
// a page of a stateful walk is never asked for twice (R22); that nothing leaves
// for an address the source may not name (R49); that no reply can exhaust memory
// (R50); that a credential goes nowhere but to the source's own host and where its
// tokens are got (R59); and that every error wraps a [harvest.Fault] and shows
// neither query nor credentials (R48). Rates are the gate's business, the shape of
// replies the decoder's, what follows from a fault the caller's.
package upstream
