package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type schedulesInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
}

type ofSchedule struct {
	Name string `path:"name" maxLength:"255" doc:"Name of the schedule; a slash in it is written %2F"`
}

// declareSchedules adds what is asked for by itself.
func (d *Door) declareSchedules() {
	const tag = "schedules"
	declare(d, look("/schedules", tag, "What is asked for by itself, when it was last and when it is next"),
		func(ctx context.Context, in *schedulesInput) (control.ScheduleList, error) {
			return d.control.Schedules(ctx, in.Source)
		})
	declare(d, look("/schedules/{name}", tag, "A schedule and the cursor it moves"),
		func(ctx context.Context, in *ofSchedule) (control.ScheduleView, error) {
			return d.control.Schedule(ctx, in.Name)
		})
}
