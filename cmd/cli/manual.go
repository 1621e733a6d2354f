package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// ForManual makes the commands say what belongs into manual pages: settings once, as
// a list, and the folder of data that of an appliance. A page is written when the
// program is built, see cmd/manual.
func ForManual(root *cobra.Command) {
	eachCommand(root, forManual)
	root.PersistentFlags().Lookup("data").DefValue = "/var/lib/sluice" // not that of who builds it
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
