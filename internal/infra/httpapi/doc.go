// Package httpapi is the door by which programs come to patra: what an operator may
// see and do ([control.Control]) over HTTP, with JSON that equals what the command
// line prints with --json. It computes no truth of its own.
//
// A route is declared once, by its types: the OpenAPI document, the checking of what
// comes in and the shape of what goes out are made from them. Errors are problems of
// RFC 9457 with the code that the command line prints.
//
// Every request passes the same gates in one order ([Door.ServeHTTP]): is the route
// there, was it sent to this host, does it come from a page of somebody else, who
// sends it, may they. Behind the gates a change is done once for each Idempotency-Key,
// and only while what If-Match names is as it was seen.
package httpapi
