package scheduler

import "context"

// Tick looks at the schedules once and waits for what it triggered.
func (s *Scheduler) Tick(ctx context.Context) {
	s.look(ctx)
	s.running.Wait()
}
