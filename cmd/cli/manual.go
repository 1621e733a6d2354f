package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// completions are the scripts for shells by where they lie below the folder
// for shared files, in which each shell looks for them.
var completions = map[string]func(root *cobra.Command, file string) error{
	"bash-completion/completions/sluice":    func(c *cobra.Command, file string) error { return c.GenBashCompletionFileV2(file, true) },
	"zsh/vendor-completions/_sluice":        func(c *cobra.Command, file string) error { return c.GenZshCompletionFile(file) },
	"fish/vendor_completions.d/sluice.fish": func(c *cobra.Command, file string) error { return c.GenFishCompletionFile(file, true) },
}

// manualCommand writes what a package installs beside the program. It is part
// of the program, so that it fits and needs nothing to be built.
func manualCommand() *cobra.Command {
	var date string
	c := &cobra.Command{
		Use:     "manual DIR",
		Short:   "Write the manual pages and the completion of shells below a folder",
		Long:    "Write the manual pages and the completion of shells below a folder, as\n/usr/share.",
		Example: "  sluice manual /usr/local/share",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(c *cobra.Command, args []string) error {
			day, err := time.Parse(time.DateOnly, date)
			if err != nil {
				return usagef("--date: %v", err)
			}
			return writeManual(c.Root(), args[0], day)
		},
	}
	c.Flags().StringVar(&date, "date", time.Now().Format(time.DateOnly), "date in the pages, YYYY-MM-DD")
	return c
}

func writeManual(root *cobra.Command, dir string, day time.Time) error {
	pages := filepath.Join(dir, "man", "man8")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	// The default would be this machine's user and name.
	data := root.PersistentFlags().Lookup("data")
	if data != nil {
		data.DefValue = "/var/lib/sluice"
	}
	header := &doc.GenManHeader{Section: "8", Source: "Sluice " + Version, Manual: "Sluice", Date: &day}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return err
	}
	for name, write := range completions {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := write(root, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
