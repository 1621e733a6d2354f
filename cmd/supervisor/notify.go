package supervisor

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// systemd is the service manager that started this process and wants to be told
// how it is (sd_notify(3), Type=notify). Without one nothing is said.
type systemd struct {
	log *slog.Logger
	// beats is when the next sign of life is due, nil when none is wanted.
	beats  <-chan time.Time
	ticker *time.Ticker
}

// findSystemd asks the environment. Signs of life are sent twice as often as
// they are wanted.
func findSystemd(log *slog.Logger) *systemd {
	s := &systemd{log: log}
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is left without signs of life", "error", err)
	}
	if err == nil && every > 0 {
		s.ticker = time.NewTicker(every / 2)
		s.beats = s.ticker.C
	}
	return s
}

func (s *systemd) say(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd was not told", "state", state, "error", err)
	}
}

func (s *systemd) serving(i Instance) {
	s.say(daemon.SdNotifyReady + "\nSTATUS=serving, API https://" + i.API)
}

// reload tells of a reload around it. The time is for Type=notify-reload, which
// waits for the READY that belongs to this one.
func (s *systemd) reload(pass func()) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	s.say(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/1000))
	pass()
	s.say(daemon.SdNotifyReady)
}

func (s *systemd) stopping() {
	s.say(daemon.SdNotifyStopping)
	if s.ticker != nil {
		s.ticker.Stop()
	}
}

// alive is a sign of life. It is given by the goroutine that serves signals, and
// only when the state of every role can be had: none of the locks is stuck.
func (s *systemd) alive(roles func()) {
	roles()
	s.say(daemon.SdNotifyWatchdog)
}
