package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// ReadFile reads a file of at most most bytes; - is standard input.
func ReadFile(cmd *cobra.Command, name string, most int) ([]byte, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(content) > most:
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return content, nil
}

// ThenFiles completes the first argument, then file names.
func ThenFiles(first cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return first(cmd, args, toComplete)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// TransferTimeout bounds the transfer of an archive.
const TransferTimeout = 10 * time.Minute

// PrintFile writes a file unchanged, or as text in an object with --json.
func (c *Line) PrintFile(cmd *cobra.Command, path, name string) error {
	a, err := c.Get(cmd.Context(), path)
	if err != nil {
		return err
	}
	out := show.Clean(string(a.Body))
	if c.JSON {
		b, err := json.MarshalIndent(map[string]string{"file": name, "pem": out}, "", "  ")
		if err != nil {
			return err
		}
		out = string(b) + "\n"
	}
	_, err = io.WriteString(cmd.OutOrStdout(), out)
	return err
}
