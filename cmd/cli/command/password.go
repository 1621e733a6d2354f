package command

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

// BothPasswords reads the current and a new password.
func BothPasswords(cmd *cobra.Command) (old, new string, err error) {
	if isShown(cmd) {
		return shownSecret, shownSecret, nil
	}
	if Keyboard(cmd) == nil {
		lines := bufio.NewReader(cmd.InOrStdin())
		if old, err = firstLine(lines); err == nil {
			new, err = firstLine(lines)
		}
		return old, new, err
	}
	if old, err = CurrentPassword(cmd); err == nil {
		new, err = NewPassword(cmd)
	}
	return old, new, err
}

// Keyboard returns the terminal that the command reads from, or nil.
func Keyboard(cmd *cobra.Command) *os.File { return terminal.Of(cmd.InOrStdin()) }

// firstLine reads the next line of standard input, which must exist.
func firstLine(from *bufio.Reader) (string, error) {
	text, err := from.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	text = strings.TrimPrefix(text, "\ufeff") // some Windows editors write a BOM
	if text = strings.TrimRight(text, "\r\n"); text == "" {
		return "", Usagef("missing password: enter it on a terminal, or as the first line of standard input")
	}
	return text, nil
}

// AskPassword asks on a terminal without echo.
func AskPassword(cmd *cobra.Command, what string) (string, error) {
	out := cmd.ErrOrStderr()
	if mute, is := out.(*unheard); is {
		out = mute.to // questions must be visible
	}
	return (&terminal.Lines{In: Keyboard(cmd), Out: out}).Password(what)
}

// CurrentPassword reads the current password.
func CurrentPassword(cmd *cobra.Command) (string, error) {
	if isShown(cmd) {
		return shownSecret, nil
	}
	if Keyboard(cmd) == nil {
		return firstLine(bufio.NewReader(cmd.InOrStdin()))
	}
	return AskPassword(cmd, "Current password: ")
}

// NewPassword reads a password: twice from a terminal, otherwise one line.
func NewPassword(cmd *cobra.Command) (string, error) {
	if isShown(cmd) {
		return shownSecret, nil
	}
	if Keyboard(cmd) == nil {
		return firstLine(bufio.NewReader(cmd.InOrStdin()))
	}
	first, err := AskPassword(cmd, "Password: ")
	if err != nil {
		return "", err
	}
	again, err := AskPassword(cmd, "Again: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", errors.New("the passwords differ: nothing was changed")
	}
	return first, nil
}
