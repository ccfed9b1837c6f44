package viewfeed

import (
	"context"
	"fmt"
)

// HighestBuild returns the highest build of the view that it holds rows of; 0 for none.
func HighestBuild(ctx context.Context, t Target) (int64, error) {
	spaces, err := t.place.spaces(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the spaces: %w", err)
	}
	var highest int64
	for _, s := range spaces {
		highest = max(highest, s.build)
	}
	return highest, nil
}
