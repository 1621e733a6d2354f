package supervisor

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// systemd reports to the service manager that started this process, if it wants
// notifications (sd_notify(3), Type=notify).
type systemd struct {
	log *slog.Logger
	// beats delivers the times of watchdog notifications; nil if none are wanted.
	beats  <-chan time.Time
	ticker *time.Ticker
}

// findSystemd reads the environment. Watchdog notifications are sent at twice the required
// rate.
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

// reload reports the beginning and end of a reload. Type=notify-reload uses the time to
// match the READY of this reload.
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

// alive sends a watchdog notification. It first reads the state of every role, which proves
// that no lock is stuck. The goroutine that handles signals calls it.
func (s *systemd) alive(roles func()) {
	roles()
	s.say(daemon.SdNotifyWatchdog)
}
