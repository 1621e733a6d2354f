package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/mgmt/validate"
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
	pages, documents := filepath.Join(dir, "man", "man8"), filepath.Join(dir, "man", "man5")
	for _, folder := range []string{pages, documents} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	eachCommand(root, forManual)
	// The default would be this machine's user and name.
	data := root.PersistentFlags().Lookup("data")
	if data != nil {
		data.DefValue = "/var/lib/sluice"
	}
	header := &doc.GenManHeader{Section: "8", Source: "Sluice " + Version, Manual: "Sluice", Date: &day}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return err
	}
	if err := writeDocumentPage(filepath.Join(documents, documentPage+".5"), *header); err != nil {
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

// manualText keys what a manual page says of a command where its help has a table
// for a terminal, in the markdown that pages are made from.
const manualText = "manual"

// forManual makes the command say what belongs into a manual page: settings once,
// as a list.
func forManual(cmd *cobra.Command) {
	if text := cmd.Annotations[manualText]; text != "" {
		cmd.Long = text
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[settingFlag] != nil {
			f.Hidden = true
		}
	})
}

// definitions lists fields in markdown, each with what is said of it.
func definitions(params []validate.Param, said func(validate.Param) string) string {
	var out strings.Builder
	for _, p := range params {
		fmt.Fprintf(&out, "**%s**\n: %s\n\n", p.Name, markdown.Replace(said(p)))
	}
	return out.String()
}

// markdown takes their meaning from signs that have one in markdown.
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`)
