from ._about import check_about as check_about
