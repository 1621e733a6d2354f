// Package line is the channel between the supervisor and one role: a unixpacket socket pair,
// created for each life of the role.
//
// The role reports once that it serves and how it is protected, before it has read any
// external input, so that the report cannot be forged. Only mgmt may send requests. It can
// request the --config file, which it gets as an open descriptor because it may not read it
// itself, and the state of all roles. It can verify root's password and, with the current
// one, change it. It can also request a machine setting or another API listener. The
// supervisor can request a reload of the file and signs of life from each role. Each side
// detects the end of the other by the end of the channel.
//
// A Line is the role's side, a Post the supervisor's. Both are safe for concurrent use; each
// starts one goroutine that ends with the channel.
package line

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/core/shm"
)

// Role is the supervisor's view of one role.
type Role struct {
	Name string `json:"name"`
	// PID is 0 if the role is not running.
	PID int `json:"pid"`
	// Started is the start of its current life; zero if it is not running.
	Started time.Time `json:"started"`
	// Restarts counts the lives after the first.
	Restarts int `json:"restarts"`
	// Ready is true once the role reported that it serves.
	Ready bool `json:"ready"`
	// Hardening is valid once Ready.
	Hardening harden.Status `json:"hardening"`
}

// ErrNoConfig means that `sluice run` was started without --config.
var ErrNoConfig = errors.New("this instance was started without --config: there is no file to read")

// ErrNotYours means that the role may not send this request.
var ErrNotYours = errors.New("the supervisor answers this to mgmt only")

// RefusedError is the system's reason not to change a password, in words for the user.
type RefusedError struct{ Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Why }

// Operations of the messages.
const (
	opReport   = "report"   // role to supervisor, once
	opConfig   = "config"   // mgmt requests the file; the answer carries it
	opRoles    = "roles"    // mgmt requests the state of the roles
	opPassword = "password" // mgmt verifies root's password
	opHost     = "host"     // mgmt requests a machine setting
	opListen   = "listen"   // mgmt requests another API listener; the answer carries it
	opChange   = "change"   // mgmt changes root's password
	opReload   = "reload"   // supervisor to mgmt
	opPulse    = "pulse"    // supervisor asks a role for a sign of life; the answer has the same number
)

// maxMessage bounds a message in both directions; the longest holds all roles.
const maxMessage = 8 << 10

// message is a message; Op determines its fields.
type message struct {
	Op string `json:"op"`
	// Question is the number of a question and its answer.
	Question  uint64         `json:"question,omitempty"`
	Hardening *harden.Status `json:"hardening,omitempty"`
	Roles     []Role         `json:"roles,omitempty"`
	Path      string         `json:"path,omitempty"`
	// Address is the requested listen address.
	Address string `json:"address,omitempty"`
	// Password is the one to verify and New its replacement; Right is the result.
	Password []byte `json:"password,omitempty"`
	New      []byte `json:"new,omitempty"`
	Right    bool   `json:"right,omitempty"`
	// Kind is the kind of Request; Answer is its response.
	Kind    string `json:"kind,omitempty"`
	Request []byte `json:"request,omitempty"`
	Answer  []byte `json:"answer,omitempty"`
	Error   string `json:"error,omitempty"`
	// NoConfig marks the error as ErrNoConfig, NotYours as ErrNotYours, Refused as a
	// *RefusedError.
	NoConfig bool `json:"no_config,omitempty"`
	NotYours bool `json:"not_yours,omitempty"`
	Refused  bool `json:"refused,omitempty"`
}

func send(c *net.UnixConn, m message, files ...*os.File) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("supervisor channel: %w", err)
	}
	if err := shm.Send(c, b, files...); err != nil {
		return fmt.Errorf("supervisor channel: %w", err)
	}
	return nil
}

func receive(c *net.UnixConn, buf []byte) (message, []*os.File, error) {
	n, files, err := shm.Receive(c, buf)
	if err != nil {
		return message{}, nil, err
	}
	var m message
	if err := json.Unmarshal(buf[:n], &m); err != nil {
		closeFiles(files)
		return message{}, nil, fmt.Errorf("supervisor channel: message not understood: %w", err)
	}
	return m, files, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
