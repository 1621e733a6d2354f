package syslog

import (
	"log/slog"

	"github.com/sluicelb/sluice/core/logpipe"
)

// Log passes log records of a process to a Remote.
type Log struct {
	To   *Remote
	Role string
}

// NewHandler returns a handler that passes every record to next and, as a message of the
// role, to r. Log records about r itself must not use it.
func NewHandler(next slog.Handler, r *Remote, role string) slog.Handler {
	return logpipe.Tap(next, Log{r, role})
}

// Active implements logpipe.Sink.
func (l Log) Active() bool { return l.To.Active() }

// Take implements logpipe.Sink.
func (l Log) Take(r logpipe.Record) {
	l.To.Send(Message{Facility: Daemon, Severity: severity(r.Level), Time: r.Time, ID: IDLog, Data: RoleData(l.Role), Text: r.Text})
}

// RoleData returns structured data with the role of the sending process.
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
