package people

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func keyCommand(c *command.Line) *cobra.Command {
	return command.Parent("key", "Manage API keys", "  sluice key create monitoring\n  sluice key list\n  sluice key delete 2",
		keyCreate(c), keyList(c), keyDelete(c))
}

type key struct {
	ID                 uint64
	User, Comment, Key string
	Created            time.Time
}

func keyCreate(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "create [COMMENT]", Short: "Create an API key; it is shown only once, alone on the last line",
		Example: "  sluice key create\n  SLUICE_KEY=$(sluice key create monitoring | tail -n 1)",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := c.Send(cmd.Context(), http.MethodPost, "/keys", map[string]any{"comment": strings.Join(args, " ")})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params key }
			if err := a.Decode(&body); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Key %d of user %s. It is not shown again; send it in the header ZAPI_KEY:\n%s\n",
				body.Params.ID, show.Clean(body.Params.User), show.Clean(body.Params.Key))
			return err
		},
	}
}

func keyList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the API keys", Example: "  sluice key list", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/keys")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params []key }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("ID", "USER", "CREATED", "COMMENT")
			for _, k := range body.Params {
				s.Add(k.ID, k.User, command.FormatTime(k.Created), k.Comment)
			}
			return c.Print(cmd, s)
		},
	}
}

func keyDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete an API key; it stops working at once", Example: "  sluice key delete 2",
		Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.KeyID}, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.Delete(cmd, "keys", args[0]) },
	}
}
