package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// Exit statuses of every command.
const (
	ExitDone    = 0
	ExitRefused = 1
	ExitUsage   = 2
	// ExitFound: findings were printed (farm lint).
	ExitFound = 3
)

// failure is an error of a correctly used command: a refusal or failure. All other errors
// are usage errors from cobra.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// usageError is a usage error detected by the command itself.
type usageError struct{ message string }

func (u *usageError) Error() string { return u.message }

// isUsage reports whether an error is one of usage.
func isUsage(err error) bool {
	if _, is := errors.AsType[*client.FlagError](err); is {
		return true
	}
	_, is := errors.AsType[*usageError](err)
	return is
}

// Usagef returns a usage error.
func Usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// Report prints an error and returns the exit status.
func Report(cmd *cobra.Command, err error, stderr io.Writer) int {
	var failed *failure
	var last *ExitStatus
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrInvalid):
		return ExitRefused // the errors were printed
	case errors.Is(err, ErrFound):
		return ExitFound // the findings were printed
	case errors.As(err, &last):
		return last.Code // the error was printed
	case errors.As(err, &failed):
		if api, ok := errors.AsType[*client.Error](err); ok && asJSON(cmd) {
			stderr.Write(api.Body)
			return ExitRefused
		}
		fmt.Fprintf(stderr, "sluice: %s\n", show.Clean(failed.Error()))
		return ExitRefused
	default:
		fmt.Fprintf(stderr, "sluice: %s\nSee '%s --help'.\n", show.Clean(err.Error()), cmd.CommandPath())
		return ExitUsage
	}
}

func asJSON(cmd *cobra.Command) bool {
	yes, err := cmd.Flags().GetBool("json")
	return err == nil && yes
}

// MarkFailures makes every error of a command a failure, unless it is a usage error of its
// own.
func MarkFailures(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		MarkFailures(sub)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil || isUsage(err) {
			return err
		}
		return &failure{asTyped(cmd, err)}
	}
}

// ErrFound ends a lint with printed warnings or errors.
var ErrFound = errors.New("there are warnings or errors")

// ErrInvalid ends a check whose findings were printed.
var ErrInvalid = errors.New("the document cannot be applied")

// ExitStatus is the status of a shell's last command, which printed its error.
type ExitStatus struct{ Code int }

func (s *ExitStatus) Error() string {
	return fmt.Sprintf("the last command ended with status %d", s.Code)
}
