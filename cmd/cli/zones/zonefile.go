package zones

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/zonefile"
)

// errZoneFile ends the check of a file that cannot be imported; the errors were printed.
var errZoneFile = errors.New("the file cannot be imported")

func zoneImport(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FARM ZONE FILE", Short: "Import the records of a zone from a master file", Args: command.Exactly(3),
		Long: `Import the records of a zone from a master file. They replace the records of the
zone or, with --add, are added to them. The zone must exist; names without a
final dot are relative to it. Errors are reported with their lines, and nothing
is changed then.

Records that the file lacks are deleted. Their number is shown, and on a
terminal you are asked first.

The serial is never lower than that of the file, so secondaries follow. A record
"www DYNA shop" refers to the farm's service shop. A record
"www ALIAS shop.example.net." creates a service for itself.`,
		Example:           "  sluice zone import names example.com db.example.com --dry-run\n  sluice zone import names example.com db.example.com\n  dig @ns.old.example example.com AXFR | sluice zone import names example.com -",
		ValidArgsFunction: command.ThenFiles(c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil)),
	}
	add := cmd.Flags().Bool("add", false, "keep the records of the zone, and add those of the file")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := client.Path("farms", args[0], "zones", args[1], "import")
		if err != nil {
			return err
		}
		content, err := command.ReadFile(cmd, args[2], zonefile.MaxSize)
		if err != nil {
			return err
		}
		query := command.DryRunQuery(*dryRun)
		if *add {
			query.Set("add", "true")
		}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: path, Query: query, Body: content, Sources: args[2:], ContentType: "text/dns", Timeout: command.TransferTimeout})
		return c.FinishOrDiff(cmd, a, err, *dryRun)
	}
	return cmd
}

func zoneExport(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "export FARM ZONE", Short: "Write a zone as a master file to standard output", Example: "  sluice zone export names example.com > db.example.com",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "zones", args[1], "export")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), show.Clean(string(a.Body)))
			return err
		},
	}
}

func zoneCheck(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "check ZONE FILE", Short: "Check a master file without a running appliance", Args: command.Exactly(2),
		Example:           "  sluice zone check example.com db.example.com",
		ValidArgsFunction: command.ThenFiles(cobra.NoFileCompletions),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := command.ReadFile(cmd, args[1], zonefile.MaxSize)
			if err != nil {
				return err
			}
			read := zonefile.Parse(content, args[0])
			problems := read.Problems
			gslbfarm.CheckRecordsAlone(&read.Zone, func(i int, err field.Error) bool {
				problems = append(problems, zonefile.Problem{Line: read.Lines[i], Text: err.Message})
				return true
			})
			slices.SortStableFunc(problems, func(a, b zonefile.Problem) int { return a.Line - b.Line })
			for _, p := range problems {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[1], show.Clean(p.Error()))
			}
			if read.More > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d more lines are faulty\n", args[1], read.More)
			}
			if len(problems) > 0 {
				return errZoneFile
			}
			for _, kind := range slices.Sorted(maps.Keys(read.Skipped)) {
				command.Warn(cmd, fmt.Sprintf("%d records of type %s are omitted: servers generate them", read.Skipped[kind], kind))
			}
			for _, text := range read.Warnings() {
				command.Warn(cmd, text)
			}
			command.Warn(cmd, gslbfarm.NameServerWarning(&read.Zone))
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d records of zone %s.\n", args[1], len(read.Zone.Records), read.Zone.Name)
			return err
		},
	}
}
