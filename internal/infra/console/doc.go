// Package console shows what app/control shows to people with a browser, and does what
// it does at their word. It has no truth of its own: a page is made of views of
// control, the JSON of a page is the API's document, and a change is made by the
// API, with its preview, its token, its reason and its line in the audit.
//
// Pages are rendered here and work without script; the script adds live updates and
// keys. Whatever an upstream sent is text: the templates escape it, and the content
// security policy lets no other script run than ours.
//
// A page costs the store the same however many look at it at once.
package console
