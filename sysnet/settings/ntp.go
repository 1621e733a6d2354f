package settings

import (
	"context"
	"errors"
	"os"
)

const (
	chronyFolder    = "/etc/chrony/sources.d"
	chronyFile      = chronyFolder + "/sluice.sources"
	timesyncdFolder = "/etc/systemd/timesyncd.conf.d"
	timesyncdFile   = timesyncdFolder + "/sluice.conf"
)

// Services that synchronize the clock.
const (
	Chrony    = "chrony"
	Timesyncd = "systemd-timesyncd"
)

var errNoTime = errors.New("nothing here keeps the time that Sluice can set: install chrony, or systemd-timesyncd")

// keepsTime returns the service that synchronizes the clock, or "" if none is known.
func (m *Machine) keepsTime() string {
	switch {
	case m.exists("/usr/sbin/chronyd") && m.exists(chronyFolder):
		return Chrony
	case m.exists("/lib/systemd/systemd-timesyncd"), m.exists("/usr/lib/systemd/systemd-timesyncd"):
		return Timesyncd
	}
	return ""
}

// ntp sets the server of the service that synchronizes the clock. It deletes our file for
// another service.
func (m *Machine) ntp(ctx context.Context, q Request) error {
	server := q.NTP.Server
	switch service := m.keepsTime(); {
	case service == Chrony:
		return m.chrony(ctx, q)
	case service == Timesyncd:
		return m.timesyncd(ctx, q)
	case server == "":
		return nil
	}
	return errNoTime
}

func (m *Machine) chrony(ctx context.Context, q Request) error {
	server := q.NTP.Server
	if _, err := m.remove(timesyncdFile); err != nil {
		return err
	}
	var changed bool
	var err error
	if server == "" {
		changed, err = m.remove(chronyFile)
	} else {
		changed, err = m.place(chronyFile, head+" (sluice system ntp).\nserver "+server+" iburst prefer\n", 0o644)
	}
	if err != nil || !changed && !q.Again {
		return err
	}
	// chronyc reload sources would suffice, but needs access to the folder of its socket
	// and permission to change modes of root's files.
	return m.tell(ctx, "chronyd", "try-restart", "chrony.service", "chronyd.service")
}

func (m *Machine) timesyncd(ctx context.Context, q Request) error {
	server := q.NTP.Server
	var changed bool
	var err error
	if server == "" {
		changed, err = m.remove(timesyncdFile)
	} else {
		if err := os.MkdirAll(m.path(timesyncdFolder), 0o755); err != nil {
			return explain(timesyncdFolder, err)
		}
		changed, err = m.place(timesyncdFile, head+" (sluice system ntp).\n[Time]\nNTP=\nNTP="+server+"\n", 0o644)
	}
	if err != nil || !changed && !q.Again {
		return err
	}
	return m.tell(ctx, "systemd-timesyncd", "try-restart", "systemd-timesyncd.service")
}
