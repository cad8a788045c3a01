// Package trace is how the parts of patra tell of work while it goes on, as a tree of
// spans: each has a beginning, an end and a parent, and all of one plan are one tree,
// whichever processes worked on it.
//
// It promises nothing about where spans go. Who tells of them knows this package only,
// and tells the same whether anybody listens or not: [Off] costs next to nothing.
//
//	PlannerTrigger                  what came of a trigger
//	  CompileSpec                   the description of the source
//	  Permit, HTTP Call, Decode     counting
//	  Slice                         one for each that was cut
//	    Run                         one for each attempt at its task
//	      PickTask                  beginning it in the store
//	      Batch                     one for each page
//	        Permit                  waiting at the rate gate
//	        HTTP Call               one for each request
//	        Decode                  the reply taken apart
//	        Commit                  the page made durable
//	      Slice                     one for each that a cut put in its place
package trace

import "context"

// The names of spans.
const (
	PlannerTrigger = "PlannerTrigger"
	CompileSpec    = "CompileSpec"
	Slice          = "Slice"
	Run            = "Run"
	PickTask       = "PickTask"
	Batch          = "Batch"
	Permit         = "Permit"
	HTTPCall       = "HTTP Call"
	Decode         = "Decode"
	Commit         = "Commit"
)

// Keys of what is known of the work that a span belongs to. The spans beneath it bear
// them too.
const (
	Source      = "patra.source"
	Endpoint    = "patra.endpoint"
	Operation   = "patra.op"
	Priority    = "patra.priority" // when its turn is: the lower, the earlier
	Instance    = "patra.schedule_instance_id"
	Plan        = "patra.plan_id"
	SliceID     = "patra.slice_id"
	Task        = "patra.task_id"
	RunID       = "patra.run_id"
	BatchID     = "patra.batch_id"
	Correlation = "patra.correlation_id"
)

// Keys of what is known of one span alone.
const (
	Trigger   = "patra.trigger"     // what set the plan off
	Outcome   = "patra.outcome"     // what came of a trigger or a run
	Slices    = "patra.slices"      // how many a plan has got
	Expected  = "patra.expected"    // how many records
	Window    = "patra.window"      // what a slice answers for
	Attempt   = "patra.attempt"     // the how manieth run of a task
	Phase     = "patra.phase"       // what a page is a page of
	Page      = "patra.page"        // its place in the walk
	Items     = "patra.items"       // how many it brought
	HasNext   = "patra.has_next"    // 1 if a page follows, else 0
	Purpose   = "patra.purpose"     // what a request asks for
	Cause     = "error.type"        // the code of what went wrong
	Level     = "patra.error.level" // how bad that is
	Method    = "http.request.method"
	Status    = "http.response.status_code"
	Server    = "server.address"
	BodyBytes = "http.response.body.size"
)

// Inherited are the keys that a span takes over from the one it is beneath.
func Inherited() []string {
	return []string{Source, Endpoint, Operation, Priority, Instance, Plan, SliceID, Task, RunID, BatchID, Correlation}
}

// Tracer begins spans. It is safe for concurrent use, and never waits for whoever
// listens.
type Tracer interface {
	// Begin begins a span beneath that of ctx, and returns a context whose span it is.
	// Only a trigger and a run may begin a tree: what belongs to neither, such as a
	// preview, is not told of.
	Begin(ctx context.Context, name string) (context.Context, Span)
	// BeginPart begins one that can be found again by the part it has in its tree: see
	// Within.
	BeginPart(ctx context.Context, name, part string) Span
	// Place is where in its tree the span of ctx stands, as W3C writes it (traceparent);
	// empty if it has none.
	Place(ctx context.Context) string
	// Within returns a context whose span is the one at a place, perhaps of another
	// process, or, if a part is named, the span of that part in the same tree. A place
	// that cannot be read leaves ctx as it is.
	Within(ctx context.Context, place, part string) context.Context
}

// Span is something that goes on.
type Span interface {
	// Text and Number say something about it, under one of the keys above.
	Text(key, value string)
	Number(key string, n int64)
	// Fail says that it went wrong; nil says nothing.
	Fail(err error)
	// Child begins a span beneath it.
	Child(name string) Span
	End()
}

// Off is a tracer to which nobody listens.
var Off Tracer = off{}

// None is a span of which nobody hears.
var None Span = off{}

type off struct{}

func (off) Begin(ctx context.Context, _ string) (context.Context, Span) { return ctx, None }
func (off) BeginPart(context.Context, string, string) Span              { return None }
func (off) Place(context.Context) string                                { return "" }
func (off) Within(ctx context.Context, _, _ string) context.Context     { return ctx }
func (off) Text(string, string)                                         {}
func (off) Number(string, int64)                                        {}
func (off) Fail(error)                                                  {}
func (off) Child(string) Span                                           { return None }
func (off) End()                                                        {}
