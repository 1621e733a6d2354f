// Package line is the channel between the supervisor and one role: a unixpacket
// socket pair that is made new for each life of the role.
//
// The role reports on it once that it serves and what protects it: before it
// has read anything of others, so that nobody else can have spoken for it. mgmt,
// and no other role, may ask for the --config file, which it has no right to
// read itself and gets as an open descriptor, for the state of all roles,
// whether a password is that of the system's root and, knowing that, for another one
// (mgmt alone cannot become root), for something of the machine to
// be set, and for another listener of the API. The supervisor may say that the
// file shall be read again, and asks each role whether it goes on. The end of the channel
// tells each side that the other one is gone.
//
// A Line belongs to the role's side, a Post to the supervisor's. Both may be
// used from any goroutine; each starts one goroutine of its own that ends with
// the channel.
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

// Role is the state of one role as the supervisor knows it.
type Role struct {
	Name string `json:"name"`
	// PID is 0 while the role is not running.
	PID int `json:"pid"`
	// Started is when its present life began; the zero time while not running.
	Started time.Time `json:"started"`
	// Restarts counts the lives after the first.
	Restarts int `json:"restarts"`
	// Ready is true from the moment the role reported that it serves.
	Ready bool `json:"ready"`
	// Hardening is valid once Ready.
	Hardening harden.Status `json:"hardening"`
}

// ErrNoConfig means that `sluice run` was started without --config.
var ErrNoConfig = errors.New("this instance was started without --config: there is no file to read")

// ErrNotYours means that the role is none that may ask this.
var ErrNotYours = errors.New("the supervisor answers this to mgmt only")

// RefusedError says why the system changes no password, in words for who asked.
type RefusedError struct{ Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Why }

// Operations of the messages.
const (
	opReport   = "report"   // role to supervisor, once
	opConfig   = "config"   // mgmt asks for the file; the answer carries it
	opRoles    = "roles"    // mgmt asks for the state of the roles
	opPassword = "password" // mgmt asks whether a password is root's
	opHost     = "host"     // mgmt asks for something of the machine to be set
	opListen   = "listen"   // mgmt asks for another listener of the API; the answer carries it
	opChange   = "change"   // mgmt asks for another password of root
	opReload   = "reload"   // supervisor to mgmt
	opPulse    = "pulse"    // supervisor asks a role whether it goes on; the answer has the same number
)

// maxMessage bounds a message in both directions; the longest holds all roles.
const maxMessage = 8 << 10

// message is what travels; Op says which of the fields belong to it.
type message struct {
	Op string `json:"op"`
	// Question numbers a question and comes back in its answer.
	Question  uint64         `json:"question,omitempty"`
	Hardening *harden.Status `json:"hardening,omitempty"`
	Roles     []Role         `json:"roles,omitempty"`
	Path      string         `json:"path,omitempty"`
	// Address is where to listen.
	Address string `json:"address,omitempty"`
	// Password is asked about, New shall be root's instead; Right answers whether
	// Password is.
	Password []byte `json:"password,omitempty"`
	New      []byte `json:"new,omitempty"`
	Right    bool   `json:"right,omitempty"`
	// Kind is what Request is about; Answer answers it.
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
