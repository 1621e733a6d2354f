package syslog

import (
	"log/slog"

	"github.com/sluicelb/sluice/core/logpipe"
)

// Log is what a process of the appliance logs, on its way to a Remote.
type Log struct {
	To   *Remote
	Role string
}

// NewHandler returns a handler that passes every record on to next and to r, as a
// message of that role. What is logged about r itself must not come here.
func NewHandler(next slog.Handler, r *Remote, role string) slog.Handler {
	return logpipe.Tap(next, Log{r, role})
}

// Active implements logpipe.Sink.
func (l Log) Active() bool { return l.To.Active() }

// Take implements logpipe.Sink.
func (l Log) Take(r logpipe.Record) {
	l.To.Send(Message{Facility: Daemon, Severity: severity(r.Level), Time: r.Time, ID: IDLog, Data: RoleData(l.Role), Text: r.Text})
}

// RoleData says of which process of the appliance a message is.
func RoleData(role string) []Element {
	return []Element{{Name: "sluice", Params: []Param{{"role", role}}}}
}

func severity(l slog.Level) Severity {
	switch {
	case l >= slog.LevelError:
		return Error
	case l >= slog.LevelWarn:
		return Warning
	case l >= slog.LevelInfo:
		return Info
	}
	return Debug
}
