// Command manual writes the manual pages and shell completions that are installed with the
// program. The build runs it, so that they match the program and the installation needs no
// further tool.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/sluicelb/sluice/cmd/appliance"
	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

func main() {
	version := flag.String("version", client.Version, "version in the pages")
	date := flag.String("date", time.Now().Format(time.DateOnly), "date in the pages, YYYY-MM-DD")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: manual [-version V] [-date DAY] DIR\n\nwrites the manual pages and completions below DIR, laid out as below /usr/share")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	day, err := time.Parse(time.DateOnly, *date)
	if err == nil {
		err = write(flag.Arg(0), *version, day)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes the manual pages and completions below dir.
func write(dir, version string, day time.Time) error {
	root := cli.Root(appliance.Commands()...)
	command.ForManual(root)
	header := doc.GenManHeader{Source: "Sluice " + version, Manual: "Sluice", Date: &day}
	if err := pages(root, filepath.Join(dir, "man"), header); err != nil {
		return err
	}
	if err := guide(filepath.Join(dir, "man"), header); err != nil {
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

// pages writes the pages of all commands (section 8) and of the configuration document
// (section 5).
func pages(root *cobra.Command, dir string, header doc.GenManHeader) error {
	for section, command := range map[string]*cobra.Command{"8": root, "5": command.DocumentPage()} {
		folder := filepath.Join(dir, "man"+section)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		of := header
		of.Section = section
		if err := doc.GenManTree(command, &of, folder); err != nil {
			return err
		}
	}
	return nil
}

// completions maps the path of each shell's completion script, below the folder for shared
// files, to the function that writes it.
var completions = map[string]func(root *cobra.Command, file string) error{
	"bash-completion/completions/sluice":    func(c *cobra.Command, file string) error { return c.GenBashCompletionFileV2(file, true) },
	"zsh/vendor-completions/_sluice":        func(c *cobra.Command, file string) error { return c.GenZshCompletionFile(file) },
	"fish/vendor_completions.d/sluice.fish": func(c *cobra.Command, file string) error { return c.GenFishCompletionFile(file, true) },
}

// guideText is the guide in Markdown, without the title line of the page.
//
//go:embed guide.md
var guideText string

// guide writes the guide as sluice-guide(7).
func guide(dir string, header doc.GenManHeader) error {
	folder := filepath.Join(dir, "man7")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	title := fmt.Sprintf("%% %q %q %q %q %q\n", strings.ToUpper("sluice-guide"), "7", header.Date.Format("Jan 2006"), header.Source, header.Manual)
	return os.WriteFile(filepath.Join(folder, "sluice-guide.7"), md2man.Render([]byte(title+guideText)), 0o644)
}
