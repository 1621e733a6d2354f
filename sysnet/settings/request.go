package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/pattern"
)

// Kind is what a request is about. It decides what the process that carries it out
// may do (cmd/harden).
type Kind string

// The kinds.
const (
	DNS  Kind = "dns"
	NTP  Kind = "ntp"
	SSH  Kind = "ssh"
	SNMP Kind = "snmp"
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{DNS, NTP, SSH, SNMP} }

// Request is what one service is to be set to. Of the settings those of Kind count,
// and zero ones take away what was set.
type Request struct {
	Kind Kind      `json:"kind"`
	DNS  farm.DNS  `json:"dns,omitzero"`
	NTP  farm.NTP  `json:"ntp,omitzero"`
	SSH  farm.SSH  `json:"ssh,omitzero"`
	SNMP SNMPAgent `json:"snmp,omitzero"`
	// Again has a service told of its settings though they did not change: it could not
	// be the last time.
	Again bool `json:"again,omitempty"`
}

// SNMPAgent are the settings of snmpd. Community is the text itself.
type SNMPAgent struct {
	On        bool         `json:"on,omitempty"`
	IP        netip.Addr   `json:"ip,omitzero"`
	Port      uint16       `json:"port,omitempty"`
	Community string       `json:"community,omitempty"`
	Scope     netip.Prefix `json:"scope,omitzero"`
}

// Answer is what became of a request.
type Answer struct {
	// Problem says what is not as the request wants it; empty: it is.
	Problem string `json:"problem,omitempty"`
	// Untold: the service could not be told of its settings, which are there.
	Untold bool `json:"untold,omitempty"`
}

// MaxRequest bounds a request, MaxAnswer an answer, in bytes.
const (
	MaxRequest = 4 << 10
	MaxAnswer  = 4 << 10
)

// ErrRequest: the request is none that is carried out.
var ErrRequest = errors.New("this is no request about settings of the machine")

// ReadRequest reads a request of the kind from what another process wrote, and
// believes none of it.
func ReadRequest(r io.Reader, kind Kind) (Request, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxRequest+1))
	if err != nil {
		return Request{}, err
	}
	if len(b) > MaxRequest {
		return Request{}, fmt.Errorf("%w: it is longer than %d bytes", ErrRequest, MaxRequest)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var q Request
	if err := d.Decode(&q); err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if q.Kind != kind {
		return Request{}, fmt.Errorf("%w: it is about %q and not about %s", ErrRequest, q.Kind, kind)
	}
	return q, q.check()
}

// What may stand in files of services: nothing in it means anything there.
var (
	hostName  = pattern.Lazy(`^[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,251}[a-zA-Z0-9_.])?$`)
	community = pattern.Lazy(`^[A-Za-z0-9!$&()*+,./:;<=>?@^_{|}~-]{1,32}$`)
)

const maxAddresses = farm.MaxSSHAddresses

// check refuses what mgmt, as it is, never asks for.
func (q *Request) check() error {
	bad := func(what string) error { return fmt.Errorf("%w: %s is not possible", ErrRequest, what) }
	addresses := slices.Concat([]netip.Addr{q.DNS.Primary, q.DNS.Secondary, q.SNMP.IP, q.SNMP.Scope.Addr()}, q.SSH.Listen)
	for _, addr := range addresses {
		if addr.Zone() != "" || addr.Is4In6() {
			return bad("address " + addr.String())
		}
	}
	server := q.NTP.Server
	switch _, err := netip.ParseAddr(server); {
	case !slices.Contains(Kinds(), q.Kind):
		return bad("kind " + string(q.Kind))
	case server != "" && err != nil && !hostName().MatchString(server):
		return bad("that server")
	case len(q.SSH.Listen) > maxAddresses:
		return bad("that many addresses")
	case q.SNMP.On && (!q.SNMP.IP.IsValid() || q.SNMP.Port == 0 || !q.SNMP.Scope.IsValid() || !community().MatchString(q.SNMP.Community)):
		return bad("an agent without address, port, community or scope")
	}
	return nil
}
