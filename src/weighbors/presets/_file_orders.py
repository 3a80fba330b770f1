"""The order of the rows in the UCI files, for data sets whose rows can come in another order.

Which rows `WekaFolds` tests together depends on this order.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError

# fmt: off
#: For each row of UCI's haberman.data, its number in KEEL's file.
_HABERMAN = np.array((
    79, 67, 37, 185, 141, 160, 225, 111, 130, 291, 223, 209, 125, 18, 29, 180, 109, 131, 153, 151, 96, 16, 147, 300,
    228, 0, 168, 190, 97, 173, 45, 251, 257, 122, 77, 184, 171, 30, 81, 1, 55, 292, 152, 89, 94, 87, 22, 248, 169,
    294, 139, 66, 203, 145, 80, 132, 17, 76, 273, 25, 192, 41, 263, 303, 239, 296, 15, 274, 207, 299, 19, 241, 46,
    211, 99, 269, 12, 214, 232, 95, 229, 8, 284, 281, 114, 183, 157, 304, 233, 121, 220, 212, 119, 42, 133, 129,
    194, 199, 244, 189, 255, 268, 218, 103, 217, 4, 106, 193, 219, 107, 245, 156, 124, 186, 161, 154, 44, 142, 93,
    51, 2, 261, 13, 101, 49, 59, 91, 210, 150, 301, 148, 164, 259, 39, 138, 158, 146, 75, 47, 123, 285, 60, 264,
    118, 163, 305, 9, 226, 170, 72, 78, 40, 201, 288, 69, 98, 33, 172, 85, 297, 267, 237, 191, 167, 3, 57, 135, 293,
    127, 88, 197, 277, 258, 62, 208, 11, 240, 50, 266, 249, 256, 174, 61, 54, 276, 14, 270, 43, 7, 206, 58, 234,
    110, 102, 120, 5, 236, 177, 134, 271, 182, 137, 144, 113, 165, 84, 90, 252, 27, 136, 28, 126, 265, 289, 100,
    155, 105, 227, 205, 21, 176, 73, 70, 231, 38, 278, 149, 115, 230, 32, 302, 166, 71, 246, 253, 10, 35, 260, 86,
    82, 52, 280, 53, 290, 65, 20, 23, 272, 104, 295, 262, 178, 198, 6, 159, 92, 181, 275, 204, 83, 298, 175, 215,
    68, 286, 117, 242, 221, 140, 247, 143, 243, 116, 188, 196, 56, 283, 287, 74, 24, 222, 31, 200, 254, 216, 48,
    128, 235, 195, 250, 63, 213, 64, 112, 187, 179, 279, 202, 34, 282, 108, 224, 36, 26, 238, 162,
))
# fmt: on


def uci_order(name: str, X: FloatArray) -> IndexArray:
    """Return the row numbers of a data set of paper 002, in the order of the UCI file.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : ndarray of shape (n, n_features)
        The rows. Those of balance-scale can be in any order, because the UCI file is sorted by the values, from the
        first feature to the last. Those of haberman must be in the order of UCI, which is by age, or of KEEL. The
        order of other data sets is not changed.
    """
    if name == "balance-scale":
        return np.lexsort(X.T[::-1])
    rows = np.arange(len(X))
    if name != "haberman" or _ascends(X[:, 0]):
        return rows
    if len(X) != len(_HABERMAN) or not _ascends(X[_HABERMAN, 0]):
        raise InvalidDataError(
            f"haberman must have its {len(_HABERMAN)} rows in UCI's order or in KEEL's; got {len(X)} rows in "
            "another. Load the file as one of them distributes it"
        )
    return _HABERMAN


def _ascends(values: FloatArray) -> bool:
    """Return whether the values never decrease."""
    return bool((np.diff(values) >= 0).all())
