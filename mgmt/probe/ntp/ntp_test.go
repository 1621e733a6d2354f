package ntp_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/ntp"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// stamp returns a time in the format of NTP.
func stamp(t time.Time) []byte {
	seconds := uint64(t.Unix()) + 2208988800
	return binary.BigEndian.AppendUint64(nil, seconds<<32|uint64(t.Nanosecond())<<32/1e9)
}

// clock starts a time server whose clock is wrong by offset.
func clock(t *testing.T, leap, stratum byte, offset time.Duration) probe.Target {
	return probetest.Datagrams(t, func(asked []byte) []byte {
		if len(asked) != 48 || asked[0]&7 != 3 {
			return nil
		}
		now := time.Now().Add(offset)
		answer := make([]byte, 48)
		answer[0], answer[1] = leap<<6|4<<3|4, stratum
		copy(answer[16:], stamp(now.Add(-time.Minute)))
		copy(answer[24:], asked[40:])
		copy(answer[32:], stamp(now))
		copy(answer[40:], stamp(now))
		return answer
	})
}

func TestCheckWorksWithoutADeadline(t *testing.T) {
	probetest.Unbounded(t, "check_ntp_time", ntp.Check, clock(t, 0, 2, 0), "-p", "PORT").Healthy(t)
}

func TestClocksAreCompared(t *testing.T) {
	for _, c := range []struct {
		leap, stratum byte
		offset        time.Duration
		args          []string
		reason        string
	}{
		{0, 2, 0, []string{"-w", "5", "-c", "60"}, ""},
		{0, 2, -10 * time.Second, []string{"-w", "5", "-c", "60"}, "wanted 5"},
		{0, 2, 10 * time.Second, []string{"-w", "5", "-c", "60"}, "wanted 5"},
		{0, 2, 10 * time.Second, nil, ""},
		{3, 2, 0, nil, "the server's time is of no use"},
		{0, 0, 0, nil, "kiss of death"},
		{0, 5, 0, []string{"--max-stratum", "4"}, "the server is of stratum 5, wanted 4 at most"},
	} {
		got := probetest.Check(t, "check_ntp_time", ntp.Check, clock(t, c.leap, c.stratum, c.offset), append([]string{"-p", "PORT"}, c.args...)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
}
