package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// isShown reports whether the call is only shown, so that no password is needed.
func isShown(cmd *cobra.Command) bool {
	yes, err := cmd.Flags().GetBool("show-api")
	return err == nil && yes
}

// shownSecret replaces passwords in shown calls.
const shownSecret = "-"

// bothPasswords reads the current and a new password.
func bothPasswords(cmd *cobra.Command) (old, new string, err error) {
	if isShown(cmd) {
		return shownSecret, shownSecret, nil
	}
	if keyboard(cmd) == nil {
		lines := bufio.NewReader(cmd.InOrStdin())
		if old, err = firstLine(lines); err == nil {
			new, err = firstLine(lines)
		}
		return old, new, err
	}
	if old, err = oldPassword(cmd); err == nil {
		new, err = newPassword(cmd)
	}
	return old, new, err
}

// keyboard returns the terminal that the command reads from, or nil.
func keyboard(cmd *cobra.Command) *os.File { return terminal.Of(cmd.InOrStdin()) }

// firstLine reads the next line of standard input, which must exist.
func firstLine(from *bufio.Reader) (string, error) {
	text, err := from.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	text = strings.TrimPrefix(text, "\ufeff") // some Windows editors write a BOM
	if text = strings.TrimRight(text, "\r\n"); text == "" {
		return "", usagef("missing password: enter it on a terminal, or as the first line of standard input")
	}
	return text, nil
}

// ask asks on a terminal without echo.
func ask(cmd *cobra.Command, what string) (string, error) {
	out := cmd.ErrOrStderr()
	if mute, is := out.(*unheard); is {
		out = mute.to // questions must be visible
	}
	return (&terminal.Lines{In: keyboard(cmd), Out: out}).Password(what)
}

// oldPassword reads the current password.
func oldPassword(cmd *cobra.Command) (string, error) {
	if isShown(cmd) {
		return shownSecret, nil
	}
	if keyboard(cmd) == nil {
		return firstLine(bufio.NewReader(cmd.InOrStdin()))
	}
	return ask(cmd, "Current password: ")
}

// newPassword reads a password: twice from a terminal, otherwise one line.
func newPassword(cmd *cobra.Command) (string, error) {
	if isShown(cmd) {
		return shownSecret, nil
	}
	if keyboard(cmd) == nil {
		return firstLine(bufio.NewReader(cmd.InOrStdin()))
	}
	first, err := ask(cmd, "Password: ")
	if err != nil {
		return "", err
	}
	again, err := ask(cmd, "Again: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", errors.New("the passwords differ: nothing was changed")
	}
	return first, nil
}
