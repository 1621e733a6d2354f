package syslog

import (
	"strconv"

	"github.com/sluicelb/sluice/mgmt/audit"
)

// Audited returns the message for a call that wrote something or was refused.
func Audited(e audit.Entry) Message {
	m := Message{Facility: Auth, Severity: Notice, Time: e.Time, ID: IDAudit}
	if e.Status >= 400 {
		m.Severity = Warning
	}
	data := Element{Name: "audit"}
	add := func(name, value string) {
		if value != "" && value != "0" {
			data.Params = append(data.Params, Param{name, value})
		}
	}
	add("number", strconv.FormatUint(e.Number, 10))
	add("user", e.User)
	add("source", e.Source)
	add("method", e.Method)
	add("path", e.Path)
	add("status", strconv.Itoa(e.Status))
	add("revision", strconv.FormatUint(e.Revision, 10))
	add("missing", strconv.Itoa(e.Missing))
	m.Data = []Element{data}
	who := e.User
	if who == "" {
		who = "somebody unknown"
	}
	m.Text = who + " from " + e.Source + ": " + e.Method + " " + e.Path + ": " + strconv.Itoa(e.Status)
	if e.Message != "" {
		m.Text += " " + e.Message
	}
	return m
}
