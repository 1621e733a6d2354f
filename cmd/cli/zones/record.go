package zones

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

func recordCommand(c *command.Line) *cobra.Command {
	return command.Parent("record", "Manage the records of a zone", `  sluice record create names example.com www A 192.0.2.10
  sluice record create names example.com shop DYNA shop
  sluice record list names example.com
  sluice record set names example.com 1 rdata=192.0.2.53
  sluice record delete names example.com 2
  sluice record bulk names example.com records.json`,
		recordList(c), recordCreate(c), recordSet(c), recordDelete(c), recordBulk(c))
}

func recordList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list FARM ZONE", Short: "List the records of a zone", Example: "  sluice record list names example.com",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "zones", args[1], "resources")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					ID                          int
					RName, Type, RData, Comment string
					TTL                         *int
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("ID", "NAME", "TTL", "TYPE", "VALUE", "COMMENT")
			for _, r := range body.Params {
				s.Add(r.ID, r.RName, command.Optional(r.TTL), r.Type, r.RData, r.Comment)
			}
			return c.Print(cmd, s)
		},
	}
}

func recordCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM ZONE NAME TYPE VALUE…", Aliases: []string{"add"}, Short: "Add a record to a zone", Args: command.AtLeast(5),
		Long: `Add a record to a zone. NAME is relative to the zone; @ is the zone itself.
VALUE is the data in the format of master files; names in it are relative to the
zone unless they end with a dot. For type DYNA it is the name of the farm's
service that chooses the addresses. ttl=SECONDS and comment=TEXT may follow.`,
		Example: "  sluice record create names example.com www A 192.0.2.10\n  sluice record create names example.com @ MX 10 mail\n  sluice record create names example.com shop DYNA shop ttl=10",
		ValidArgsFunction: c.Completer([]command.Argument{command.FarmName, command.FreeText, command.FreeText,
			command.FreeText, command.FreeText}, nil),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"rname": args[2], "type": strings.ToUpper(args[3])}
		var value []string
		for _, word := range args[4:] {
			name, setting, is := strings.Cut(word, "=")
			if is && (name == "ttl" || name == "comment") {
				fields[name] = setting
				continue
			}
			value = append(value, word)
		}
		fields["rdata"] = strings.Join(value, " ")
		path, err := client.Path("farms", args[0], "zones", args[1], "resources")
		if err != nil {
			return err
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func recordSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM ZONE ID NAME=VALUE…", Short: "Change a record", Args: command.AtLeast(3),
		Example: "  sluice record set names example.com 1 rdata=192.0.2.53 ttl=60",
	}
	s := command.AddSettings(cmd, gslbfarm.RecordUpdate.Params(), "type")
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.FarmName, command.FreeText, command.FreeText}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Set(cmd, s, args[3:], "farms", args[0], "zones", args[1], "resources", args[2])
	}
	return cmd
}

func recordDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM ZONE ID", Short: "Delete a record", Example: "  sluice record delete names example.com 2",
		Args: command.Exactly(3), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName,
			command.FreeText, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Delete(cmd, "farms", args[0], "zones", args[1], "resources", args[2])
		},
	}
}

func recordBulk(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bulk FARM ZONE FILE", Short: "Add, change and delete many records in one step", Args: command.Exactly(3),
		Long: `Add, change and delete at most 10,000 records of a zone, all or none, as one
revision. FILE is JSON, with the record fields of the REST API and the ids shown
by sluice record list:

  {"resources": [
     {"rname": "www", "type": "A", "rdata": "192.0.2.10"},
     {"rname": "@", "type": "MX", "rdata": "10 mail", "ttl": 60}],
   "change": [{"id": 1, "rdata": "192.0.2.53"}],
   "delete": [2, 3]}

If one of them is refused, nothing is changed and the error names it.`,
		Example:           "  sluice record bulk names example.com records.json --dry-run\n  make-records | sluice record bulk names example.com -",
		ValidArgsFunction: command.ThenFiles(c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil)),
	}
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := client.Path("farms", args[0], "zones", args[1], "resources", "bulk")
		if err != nil {
			return err
		}
		content, err := command.ReadFile(cmd, args[2], maxBulk)
		if err != nil {
			return err
		}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: path, Query: command.DryRunQuery(*dryRun),
			Body: content, Sources: args[2:]})
		return c.FinishOrDiff(cmd, a, err, *dryRun)
	}
	return cmd
}

// maxBulk bounds the size of a file with records.
const maxBulk = 16 << 20
