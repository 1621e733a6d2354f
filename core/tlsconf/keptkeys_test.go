package tlsconf_test

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/tlsconf"
)

// keeping returns the store of a process whose keys lie in mem.
func keeping(t *testing.T, mem []byte, now *clock) *tlsconf.Store {
	t.Helper()
	s := tlsconf.NewStore(tlsconf.Options{Now: now.now})
	if err := s.Tickets().Keep(mem); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTicketsResumeInTheNextProcess(t *testing.T) {
	inBoth(t, func(t *testing.T, version uint16) {
		for _, c := range []struct {
			after time.Duration
			want  bool
		}{
			{0, true}, {tlsconf.TicketRotation, true}, {2*tlsconf.TicketRotation - time.Minute, true}, {3*tlsconf.TicketRotation - time.Minute, true},
			{3 * tlsconf.TicketRotation, false}, {100 * tlsconf.TicketRotation, false}, {-time.Hour, true}, {-100 * time.Hour, true},
		} {
			cfg, l := simple(t)
			mem, now := make([]byte, tlsconf.KeptSize), newClock()
			client := regular(anyone("www.example.com"), version, nil)
			resumes(t, publish(t, keeping(t, mem, now), cfg, 1, l), client)
			now.advance(c.after)
			if got := resumes(t, publish(t, keeping(t, mem, now), cfg, 1, l), client); got != c.want {
				t.Errorf("a ticket resumes after %v and a new process: got %v, want %v", c.after, got, c.want)
			}
		}
	})
}

// Keys rotate across processes, and setting the clock back does not extend a key's
// life.
func TestKeysRotateOverProcesses(t *testing.T) {
	for _, setBack := range []time.Duration{0, -1000 * time.Hour} {
		cfg, l := simple(t)
		mem, now := make([]byte, tlsconf.KeptSize), newClock()
		client := regular(anyone("www.example.com"), 0x304, nil)
		resumes(t, publish(t, keeping(t, mem, now), cfg, 1, l), client)
		now.advance(setBack)
		for range 12 {
			now.advance(tlsconf.TicketRotation / 3)
			publish(t, keeping(t, mem, now), cfg, 1, l)
		}
		if resumes(t, publish(t, keeping(t, mem, now), cfg, 1, l), client) {
			t.Errorf("a ticket resumes after four rotations, the clock set by %v", setBack)
		}
	}
}

func TestRotatedTicketKeysReachTheNextProcess(t *testing.T) {
	cfg, l := simple(t)
	mem, now := make([]byte, tlsconf.KeptSize), newClock()
	s := keeping(t, mem, now)
	server := publish(t, s, cfg, 1, l)
	client := regular(anyone("www.example.com"), 0x304, nil)
	s.Tickets().Rotate()
	resumes(t, server, client)
	now.advance(tlsconf.TicketRotation)
	late := regular(anyone("www.example.com"), 0x304, nil)
	resumes(t, server, late) // this handshake rotates
	next := publish(t, keeping(t, mem, now), cfg, 1, l)
	if !resumes(t, next, client) || !resumes(t, next, late) {
		t.Error("keys made since the process began are lost with it")
	}
}

func TestDamagedTicketKeysAreIgnored(t *testing.T) {
	cfg, l := simple(t)
	for at := range tlsconf.KeptSize {
		mem, now := make([]byte, tlsconf.KeptSize), newClock()
		client := regular(anyone("www.example.com"), 0x304, nil)
		if at%16 == 0 { // handshakes are slow
			resumes(t, publish(t, keeping(t, mem, now), cfg, 1, l), client)
		} else {
			keeping(t, mem, now)
		}
		mem[at] ^= 1
		s := keeping(t, mem, now)
		if at%16 == 0 && resumes(t, publish(t, s, cfg, 1, l), client) {
			t.Errorf("a ticket resumes though byte %d of the keys is wrong", at)
		}
	}
	if err := tlsconf.NewStore(tlsconf.Options{}).Tickets().Keep(make([]byte, tlsconf.KeptSize-1)); !errors.Is(err, tlsconf.ErrKept) {
		t.Errorf("too little memory: %v", err)
	}
}

// The checksum is valid, as if another program or a version with more keys had written
// it.
func TestTicketKeysOfOtherLayoutsAreIgnored(t *testing.T) {
	for name, c := range map[string]struct{ at, value byte }{"magic": {0, 'x'}, "no key": {16, 0}, "a key too many": {16, 4}, "far too many": {23, 0x80}} {
		cfg, l := simple(t)
		mem, now := make([]byte, tlsconf.KeptSize), newClock()
		client := regular(anyone("www.example.com"), 0x304, nil)
		resumes(t, publish(t, keeping(t, mem, now), cfg, 1, l), client)
		mem[c.at] = c.value
		sum := sha256.Sum256(mem[:tlsconf.KeptSize-sha256.Size])
		copy(mem[tlsconf.KeptSize-sha256.Size:], sum[:])
		server := publish(t, keeping(t, mem, now), cfg, 1, l)
		if resumes(t, server, client) {
			t.Errorf("%s: a ticket resumes", name)
		}
		if !resumes(t, server, client) {
			t.Errorf("%s: there are no keys instead", name)
		}
	}
}
