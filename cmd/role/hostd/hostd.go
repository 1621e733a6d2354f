// Package hostd is the short-lived role that applies one setting of the machine.
package hostd

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/sysnet/settings"
)

// Run executes the single request on its standard input, of the kind it was started for,
// writes the response and exits. Before reading it drops the privileges that this kind does
// not need.
func Run(kind string) error {
	status, err := harden.Host(kind)
	if err != nil {
		return err
	}
	request, err := settings.ReadRequest(os.Stdin, settings.Kind(kind))
	if err != nil {
		return err
	}
	machine := settings.Machine{Group: groupFrom(supervisor.GroupVariable)}
	answer := machine.Do(context.Background(), request)
	slog.Info("set the machine", "what", kind, "problem", answer.Problem, "protection", status.String())
	b, err := json.Marshal(answer)
	if err == nil {
		_, err = os.Stdout.Write(b)
	}
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// groupFrom returns a gid passed by the supervisor, or the own one if it is unset.
func groupFrom(variable string) int {
	n, err := strconv.ParseUint(os.Getenv(variable), 10, 32)
	if err != nil {
		return os.Getegid()
	}
	return int(n)
}
