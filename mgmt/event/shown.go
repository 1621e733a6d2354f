package event

import (
	"encoding/json"
	"net"
	"strings"
	"time"
)

// Shown is an event as other programs get it.
type Shown struct {
	Kind     Kind      `json:"kind"`
	Severity Severity  `json:"severity"`
	Time     time.Time `json:"time"`
	Farm     string    `json:"farm,omitempty"`
	Service  string    `json:"service,omitempty"`
	Backend  string    `json:"backend,omitempty"` // with its port
	Text     string    `json:"text"`
}

// Shown returns the event for others, with the reason in its text.
func (e *Event) Shown() Shown {
	return Shown{Kind: e.Kind, Severity: e.Severity, Time: e.At.UTC(), Farm: e.Fact("FARM"), Service: e.Fact("SERVICE"), Backend: e.address(), Text: e.Text()}
}

// MarshalJSON returns Shown with all facts, by their names in lower case.
func (e *Event) MarshalJSON() ([]byte, error) {
	facts := make(map[string]string, len(e.Facts))
	for _, f := range e.Facts {
		name, value, _ := strings.Cut(strings.TrimPrefix(f, "SLUICE_"), "=")
		facts[strings.ToLower(name)] = value
	}
	return json.Marshal(struct {
		Shown
		Facts map[string]string `json:"facts"`
	}{e.Shown(), facts})
}

// address returns the address of a backend, with its port if it has one; empty for none.
func (e *Event) address() string {
	host, port := e.Fact("BACKEND"), e.Fact("BACKEND_PORT")
	if host == "" || port == "" || port == "0" {
		return host
	}
	return net.JoinHostPort(host, port)
}
