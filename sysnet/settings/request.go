package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// Kind is the subject of a request. It determines the permissions of the process that
// applies it (cmd/harden).
type Kind string

// Kinds of requests.
const (
	DNS  Kind = "dns"
	NTP  Kind = "ntp"
	SSH  Kind = "ssh"
	SNMP Kind = "snmp"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{DNS, NTP, SSH, SNMP} }

// Request holds the settings of one service. Only the field of Kind is used. Zero values
// remove earlier settings.
type Request struct {
	Kind Kind      `json:"kind"`
	DNS  farm.DNS  `json:"dns,omitzero"`
	NTP  farm.NTP  `json:"ntp,omitzero"`
	SSH  farm.SSH  `json:"ssh,omitzero"`
	SNMP SNMPAgent `json:"snmp,omitzero"`
	// Again reloads the service even if its settings did not change, because the last
	// reload failed.
	Again bool `json:"again,omitempty"`
}

// SNMPAgent holds the settings of snmpd. Community is plain text.
type SNMPAgent struct {
	On        bool         `json:"on,omitempty"`
	IP        netip.Addr   `json:"ip,omitzero"`
	Port      uint16       `json:"port,omitempty"`
	Community string       `json:"community,omitempty"`
	Scope     netip.Prefix `json:"scope,omitzero"`
}

// Answer is the result of a request.
type Answer struct {
	// Problem states which part of the request is not in effect; empty on success.
	Problem string `json:"problem,omitempty"`
	// Untold is true if the settings are written but the service could not be reloaded.
	Untold bool `json:"untold,omitempty"`
}

// MaxRequest and MaxAnswer bound a request and an answer, in bytes.
const (
	MaxRequest = 4 << 10
	MaxAnswer  = 4 << 10
)

// ErrRequest means that the request is malformed or not allowed.
var ErrRequest = errors.New("this is no request about settings of the machine")

// ReadRequest reads and validates a request of the kind from an untrusted process.
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

// Values allowed in configuration files: they contain no character with a special
// meaning.
var (
	hostName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,251}[a-zA-Z0-9_.])?$`)
	})
	community = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9!$&()*+,./:;<=>?@^_{|}~-]{1,32}$`)
	})
)

const maxAddresses = farm.MaxSSHAddresses

// check rejects requests that an uncompromised mgmt never sends.
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
