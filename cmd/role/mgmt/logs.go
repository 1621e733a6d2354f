package mgmt

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/accesslog"
)

// openLogs creates the writer of access logs.
func (m *manager) openLogs() error {
	wake, err := m.File("wake")
	if err != nil {
		return err
	}
	stdout, err := m.File("stdout")
	if err != nil {
		return err
	}
	data, err := os.OpenRoot(".")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	m.root = data
	m.logs = accesslog.New(accesslog.Options{
		Segment: m.records,
		Wake:    wake,
		Data:    data,
		Stdout:  stdout,
		Config:  func() *farm.Config { cfg, _ := m.applier.Current(); return cfg },
		Classes: m.counters.Classes,
	})
	return nil
}

// keepLogs writes access logs until ctx ends. After renaming log files, a SIGHUP to the
// supervisor or this process makes it reopen them.
func (m *manager) keepLogs(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	go func() {
		for {
			select {
			case <-hangup:
				m.logs.Reopen()
			case <-ctx.Done():
				return
			}
		}
	}()
	m.logs.Run(ctx)
}
