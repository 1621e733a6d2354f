package syslog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
)

// handler passes records on to next, and to a Remote.
type handler struct {
	next slog.Handler
	to   *Remote
	role string
	with []func(slog.Handler) slog.Handler // what makes the text alike
}

// NewHandler returns a handler that passes every record on to next and to r, as a
// message of that role. What is logged about r itself must not come here.
func NewHandler(next slog.Handler, r *Remote, role string) slog.Handler {
	return &handler{next: next, to: r, role: role}
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if h.to.Active() {
		h.to.Send(Message{Facility: Daemon, Severity: severity(r.Level), Time: r.Time, ID: IDLog, Data: RoleData(h.role), Text: h.text(ctx, r)})
	}
	return h.next.Handle(ctx, r)
}

// RoleData says of which process of the appliance a message is.
func RoleData(role string) []Element {
	return []Element{{Name: "sluice", Params: []Param{{"role", role}}}}
}

// text is what happened, and its values behind it.
func (h *handler) text(ctx context.Context, r slog.Record) string {
	var values bytes.Buffer
	var to slog.Handler = slog.NewTextHandler(&values, &slog.HandlerOptions{Level: r.Level, ReplaceAttr: bare})
	for _, with := range h.with {
		to = with(to)
	}
	_ = to.Handle(ctx, r) // into memory
	return strings.TrimSpace(r.Message + " " + values.String())
}

// bare leaves out what a message has otherwise.
func bare(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(h.next.WithAttrs(attrs), func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return h.and(h.next.WithGroup(name), func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h *handler) and(next slog.Handler, with func(slog.Handler) slog.Handler) slog.Handler {
	return &handler{next, h.to, h.role, append(h.with[:len(h.with):len(h.with)], with)}
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
