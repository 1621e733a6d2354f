package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// Colored reports whether output may be coloured.
func (c *Line) Colored(w io.Writer) (bool, error) {
	switch c.Color {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal.Of(w) != nil, nil
	default:
		return false, Usagef("--color: %q is not allowed, allowed are auto, always and never", c.Color)
	}
}

// Print prints a table to the command's output.
func (c *Line) Print(cmd *cobra.Command, s *show.Sheet) error {
	colored, err := c.Colored(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	return s.Write(cmd.OutOrStdout(), colored)
}

// PrintDiff prints a unified diff, coloured if allowed.
func (c *Line) PrintDiff(cmd *cobra.Command, diff string) error {
	colored, err := c.Colored(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	return show.Diff(cmd.OutOrStdout(), diff, colored)
}

// PrintMessage prints the message of a response, or the response with --json; its warning goes to
// stderr.
func (c *Line) PrintMessage(cmd *cobra.Command, a client.Response) error {
	if c.JSON {
		return c.PrintJSON(cmd, a)
	}
	var body struct{ Message, Warning string }
	if err := a.Decode(&body); err != nil {
		return err
	}
	Warn(cmd, body.Warning)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), show.Clean(body.Message))
	return err
}

// PrintJSON prints a response unchanged.
func (c *Line) PrintJSON(cmd *cobra.Command, a client.Response) error {
	_, err := cmd.OutOrStdout().Write(a.Body)
	return err
}

// Envelope is API-style JSON composed from several responses.
type Envelope struct {
	Description string `json:"description"`
	Params      any    `json:"params"`
	Revision    uint64 `json:"revision,omitempty"`
}

// PrintEnvelope prints composed output in the form of API responses.
func (c *Line) PrintEnvelope(cmd *cobra.Command, e Envelope) error {
	raw, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return c.PrintJSON(cmd, client.Response{Body: append(raw, '\n')})
}

// FinishJSON handles a failed command and --json.
func (c *Line) FinishJSON(cmd *cobra.Command, a client.Response, err error) error {
	if err != nil {
		return err
	}
	return c.PrintJSON(cmd, a)
}

// Finish prints the message of a response, or returns the error.
func (c *Line) Finish(cmd *cobra.Command, a client.Response, err error) error {
	if err != nil {
		return err
	}
	return c.PrintMessage(cmd, a)
}

// Warn prints a warning of a response to stderr.
func Warn(cmd *cobra.Command, text string) {
	if text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "sluice: warning: %s\n", show.Clean(text))
	}
}

// FinishFields prints fields of a response, one per line in the given order, without missing
// ones.
func (c *Line) FinishFields(cmd *cobra.Command, a client.Response, err error, names ...string) error {
	if err != nil || c.JSON {
		return c.FinishJSON(cmd, a, err)
	}
	var body struct{ Params map[string]any }
	if err := a.Decode(&body); err != nil {
		return err
	}
	s := show.NewSheet("SETTING", "VALUE")
	for _, name := range names {
		if v, is := body.Params[name]; is {
			s.Add(name, v)
		}
	}
	s.AlignLeft() // mixed values
	return c.Print(cmd, s)
}
