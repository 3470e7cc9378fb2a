package gateway

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// removeUser answers DELETE /v1/boards/{board}/users/{user}.
func (g *Gateway) removeUser(c *fiber.Ctx) error { return g.writeUser(c, rankcore.OpRemove) }

// hideUser answers PUT /v1/boards/{board}/hidden/{user}.
func (g *Gateway) hideUser(c *fiber.Ctx) error { return g.writeUser(c, rankcore.OpHide) }

// showUser answers DELETE /v1/boards/{board}/hidden/{user}.
func (g *Gateway) showUser(c *fiber.Ctx) error { return g.writeUser(c, rankcore.OpShow) }

// writeUser writes one operation that the path says all about. A body is not read.
func (g *Gateway) writeUser(c *fiber.Ctx, k rankcore.OpKind) error {
	return g.write(c, func(*rankcore.Board) ([]rankcore.Op, error) {
		u, err := pathUser(c)
		if err != nil {
			return nil, err
		}
		return []rankcore.Op{{User: rankcore.UserID(strings.Clone(string(u))), Kind: k}}, nil
	})
}
