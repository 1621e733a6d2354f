package supervisor

import (
	"log/slog"
	"os"
)

// LogVariable sets how much the appliance says on standard error: debug, info,
// warn or error. Unset or anything else means info.
const LogVariable = "SLUICE_LOG"

// Logger returns the logger of a process of the appliance, under the given
// name of its role.
func Logger(role string) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(os.Getenv(LogVariable))) != nil {
		level = slog.LevelInfo
	}
	h := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})
	return slog.New(h).With("role", role)
}
