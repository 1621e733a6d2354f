package accesslog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/syslog"
)

func TestUnresponsiveTargetIsAProblem(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var s trouble
	is := func(seconds int, want string) {
		t.Helper()
		if got := s.problem(at(seconds)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("after %d s: %q, want %q", seconds, got, want)
		}
	}
	write := func(seconds int, to string, err error) { s.begin(at(seconds)); s.end(at(seconds), err, to) }
	is(0, "")
	write(1, "tcp://192.0.2.1:514", errors.New("connection refused"))
	is(1, "tcp://192.0.2.1:514, lines are lost: connection refused")
	write(2, "tcp://192.0.2.1:514", syslog.ErrPaused)
	is(3600, "connection refused")
	write(3601, "tcp://192.0.2.1:514", nil)
	is(3601, "")
	write(3602, "udp://192.0.2.1:514", errors.New("connection refused"))
	write(3603, "udp://192.0.2.1:514", nil)
	is(3603, "connection refused")
	is(3663, "")
	s.begin(at(4000))
	is(4004, "")
	is(4008, "it has taken no lines for 8s")
	s.end(at(4009), nil, "stdout")
	is(4009, "")
}
