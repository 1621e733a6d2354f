package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

type revision struct {
	Number                        uint64
	Time                          time.Time
	Author, Source, Comment, Diff string
	Tags                          []string
}

func (c *client) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "history", Short: "List the revisions of the configuration, newest first",
		Example: "  sluice history\n  sluice history --limit 5 --before 100", Args: exactly(0),
	}
	limit := cmd.Flags().Int("limit", 20, "how many")
	before := cmd.Flags().Uint64("before", 0, "only revisions with a lower number")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query := url.Values{"limit": {strconv.Itoa(*limit)}}
		if *before > 0 {
			query.Set("before", strconv.FormatUint(*before, 10))
		}
		a, err := c.do(cmd.Context(), request{method: http.MethodGet, path: "/history", query: query})
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct{ Params []revision }
		if err := a.into(&body); err != nil {
			return err
		}
		s := show.NewSheet("REVISION", "TIME", "AUTHOR", "SOURCE", "COMMENT")
		for _, r := range body.Params {
			s.Add(r.Number, when(r.Time), r.Author, r.Source, strings.TrimSpace(tagText(r.Tags)+r.Comment))
		}
		return c.print(cmd, s)
	}
	return cmd
}

// tagText returns the tags of a revision as a prefix of its comment.
func tagText(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "[" + strings.Join(tags, ", ") + "] "
}

// newest returns the number of the newest revision.
func (c *client) newest(ctx context.Context) (uint64, error) {
	a, err := c.do(ctx, request{method: http.MethodGet, path: "/history", query: url.Values{"limit": {"1"}}})
	if err != nil {
		return 0, err
	}
	var body struct{ Params []revision }
	if err := a.into(&body); err != nil {
		return 0, err
	}
	if len(body.Params) == 0 {
		return 0, fmt.Errorf("there is no revision yet: nothing has been configured")
	}
	return body.Params[0].Number, nil
}

func (c *client) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff [FROM] [TO]", Short: "Compare revisions of the configuration",
		Long: `Compare revisions of the configuration: the newest or a given revision with the
one before it, or two revisions. A tag may replace a number; now is the newest
revision.`,
		Example: "  sluice diff\n  sluice diff 12\n  sluice diff 7 12\n  sluice diff before-the-fair now",
		Args:    atMost(2), ValidArgsFunction: c.completeRevisions(),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, query, err := c.revisions(cmd, args)
			if err != nil {
				return err
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodGet, path: "/history/" + to + "/diff", query: query})
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Diff string } }
			if err := a.into(&body); err != nil {
				return err
			}
			return c.printDiff(cmd, body.Params.Diff)
		},
	}
}

// newestRevision is the word for the newest revision.
const newestRevision = "now"

// revisions parses the arguments of diff.
func (c *client) revisions(cmd *cobra.Command, args []string) (to string, query url.Values, err error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == newestRevision {
			n, err := c.newest(cmd.Context())
			if err != nil {
				return "", nil, err
			}
			args[i] = strconv.FormatUint(n, 10)
		} else if err := revisionOrTag(arg); err != nil {
			return "", nil, err
		}
	}
	switch len(args) {
	case 0:
		n, err := c.newest(cmd.Context())
		return strconv.FormatUint(n, 10), nil, err
	case 1:
		return args[0], nil, nil
	default:
		return args[1], url.Values{"from": {args[0]}}, nil
	}
}

// revisionOrTag refuses other words, because they could form another path.
func revisionOrTag(arg string) error {
	if first := arg[:min(1, len(arg))]; first >= "A" && first <= "z" && url.PathEscape(arg) == arg {
		return nil
	}
	_, err := revisionNumber(arg)
	return err
}

func revisionNumber(arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 63)
	if err != nil {
		return 0, usagef("%q is neither a revision number nor a tag", arg)
	}
	return n, nil
}

func (c *client) rollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rollback [REVISION|TAG]", Short: "Roll back to an earlier revision",
		Long: `Roll back to an earlier revision, by default the one before the newest. Its
content becomes a new revision.`,
		Example: "  sluice rollback\n  sluice rollback 7\n  sluice rollback before-the-fair --confirm 5m",
		Args:    atMost(1), ValidArgsFunction: c.completeRevisions(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var to any
			var err error
			match := "" // the newest revision, if the earlier one depends on it
			if len(args) == 1 {
				if to, err = args[0], revisionOrTag(args[0]); err == nil {
					if n, no := strconv.ParseUint(args[0], 10, 63); no == nil {
						to = n
					}
				}
			} else {
				var n uint64
				n, err = c.newest(cmd.Context())
				to, match = max(n, 1)-1, strconv.Quote(strconv.FormatUint(n, 10))
			}
			if err != nil {
				return err
			}
			body, err := json.Marshal(map[string]any{"revision": to})
			if err != nil {
				return err
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodPost, path: "/history/rollback", body: body, match: match})
			if err != nil {
				return err
			}
			result, err := c.difference(cmd, a)
			if err != nil {
				return err
			}
			return c.conclude(cmd, a, result, false)
		},
	}
}

func (c *client) completeRevisions() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		out, how := c.completer([]argument{aRevision, aRevision}, nil)(cmd, args, toComplete)
		if len(out) == 0 {
			return nil, how
		}
		return out, how | cobra.ShellCompDirectiveKeepOrder
	}
}
