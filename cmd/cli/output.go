package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// colored reports whether output may be coloured.
func (c *client) colored(w io.Writer) (bool, error) {
	switch c.color {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal.Of(w) != nil, nil
	default:
		return false, usagef("--color: %q is not allowed, allowed are auto, always and never", c.color)
	}
}

// print prints a table to the command's output.
func (c *client) print(cmd *cobra.Command, s *show.Sheet) error {
	colored, err := c.colored(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	return s.Write(cmd.OutOrStdout(), colored)
}

// printDiff prints a unified diff, coloured if allowed.
func (c *client) printDiff(cmd *cobra.Command, diff string) error {
	colored, err := c.colored(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	return show.Diff(cmd.OutOrStdout(), diff, colored)
}

// say prints the message of a response, or the response with --json; its warning goes to
// stderr.
func (c *client) say(cmd *cobra.Command, a answer) error {
	if c.json {
		return c.printJSON(cmd, a)
	}
	var body struct{ Message, Warning string }
	if err := a.into(&body); err != nil {
		return err
	}
	warn(cmd, body.Warning)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), show.Clean(body.Message))
	return err
}

func (c *client) printJSON(cmd *cobra.Command, a answer) error {
	_, err := cmd.OutOrStdout().Write(a.raw)
	return err
}

// envelope is API-style JSON composed from several responses.
type envelope struct {
	Description string `json:"description"`
	Params      any    `json:"params"`
	Revision    uint64 `json:"revision,omitempty"`
}

// printEnvelope prints composed output in the form of API responses.
func (c *client) printEnvelope(cmd *cobra.Command, e envelope) error {
	raw, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return c.printJSON(cmd, answer{raw: append(raw, '\n')})
}

// orJSON handles a failed command and --json.
func (c *client) orJSON(cmd *cobra.Command, a answer, err error) error {
	if err != nil {
		return err
	}
	return c.printJSON(cmd, a)
}

func (c *client) orSay(cmd *cobra.Command, a answer, err error) error {
	if err != nil {
		return err
	}
	return c.say(cmd, a)
}

// warn prints a warning of a response to stderr.
func warn(cmd *cobra.Command, text string) {
	if text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "sluice: warning: %s\n", show.Clean(text))
	}
}

// orFields prints fields of a response, one per line in the given order, without missing
// ones.
func (c *client) orFields(cmd *cobra.Command, a answer, err error, names ...string) error {
	if err != nil || c.json {
		return c.orJSON(cmd, a, err)
	}
	var body struct{ Params map[string]any }
	if err := a.into(&body); err != nil {
		return err
	}
	s := show.NewSheet("SETTING", "VALUE")
	for _, name := range names {
		if v, is := body.Params[name]; is {
			s.Add(name, v)
		}
	}
	s.AlignLeft() // mixed values
	return c.print(cmd, s)
}
